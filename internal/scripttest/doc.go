// Package scripttest runs the scripts below testdata/scripts: each is a folder of
// files and the commands that a user types, with the real programs and, where a
// script asks for one, a real hub. It is for tests only.
package scripttest
