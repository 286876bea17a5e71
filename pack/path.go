package pack

// CheckPath tells why path may not be the path of a file in a pack, or nil.
func CheckPath(path string) *Error {
	panic("pack: being written")
}
