//go:build race

package scan

// raceDetector makes everything many times slower, so bounds in seconds mean nothing.
const raceDetector = true
