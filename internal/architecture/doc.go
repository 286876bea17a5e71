// Package architecture holds no code, only the test that keeps the house in order:
// which room may import which, who may use which library, and who may look at the
// clock, the environment and the streams of the process. Its failures name the
// rule and the reason.
package architecture
