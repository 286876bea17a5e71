package fsx

import (
	"io/fs"
	"time"
)

// Stamp is what tells a file from its later self without reading it. Two stamps are
// comparable with ==.
type Stamp struct {
	Size     int64
	Mode     fs.FileMode
	Modified int64 // nanoseconds of the epoch
	Changed  int64 // of the inode, where the system tells it, else Modified
	Inode    uint64
}

// StampOf reads a stamp out of what Lstat gives.
func StampOf(info fs.FileInfo) Stamp {
	s := Stamp{Size: info.Size(), Mode: info.Mode(), Modified: info.ModTime().UnixNano()}
	s.Changed, s.Inode = inode(info, s.Modified)
	return s
}

// settle is how long a file must have been left alone for its stamp to be believed:
// the coarsest clock of a file system that is in use ticks every two seconds.
const settle = 2 * time.Second

// Settled tells whether the file was last changed so long before now, the time at
// which it was looked at, that a later change would show in its stamp.
func (s Stamp) Settled(now time.Time) bool {
	last := max(s.Modified, s.Changed)
	return last <= now.Add(-settle).UnixNano()
}
