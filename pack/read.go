package pack

import "sort"

// tree is a folder's content as read, before any grammar looks at it. A format
// is one function from a tree to an Inspection; it need not repeat faults and
// warnings, because the caller adds them to its answer.
type tree struct {
	name     string   // last component of the absolute cleaned path, or the name given to Read
	files    []File   // regular files, ascending by path
	faults   Errors   // what could not be read or may not be there, ascending by path
	warnings []*Error // accepted with a remark, ascending by path
	dirs     []string // sub-folders, ascending
}

// file gives the content of one file that was read.
func (t *tree) file(path string) ([]byte, bool) {
	i := sort.Search(len(t.files), func(i int) bool { return t.files[i].Path >= path })
	if i < len(t.files) && t.files[i].Path == path {
		return t.files[i].Data, true
	}
	return nil, false
}
