//go:build !race

package timetest

const raceDetector = false
