package deliver

import (
	"github.com/kortecx/kx/internal/strictjson"
	"github.com/kortecx/kx/pack"
)

// lockOf turns the tree of a lock into what it says. False says that something in it is
// not what it should be, and leaves it to strictjson to say what: a lock is read by
// every command, and once is enough.
func lockOf(root *strictjson.Node) (file lockFile, ok bool) {
	r := lockReader{}
	r.object(root, func(name string, n *strictjson.Node) {
		switch name {
		case "v":
			r.is(n.Kind == strictjson.Number && n.Text == "1")
			file.V = lockVersion
		case "skills":
			file.Skills = make(map[string]Locked, len(n.Members))
			r.object(n, func(name string, n *strictjson.Node) { file.Skills[name] = r.locked(n) })
		default:
			r.is(false)
		}
	})
	return file, !r.bad
}

type lockReader struct{ bad bool }

func (r *lockReader) is(right bool) { r.bad = r.bad || !right }

func (r *lockReader) object(n *strictjson.Node, member func(name string, n *strictjson.Node)) {
	r.is(n.Kind == strictjson.Object)
	for _, m := range n.Members {
		member(m.Name, m.Value)
	}
}

func (r *lockReader) text(n *strictjson.Node) string {
	r.is(n.Kind == strictjson.String)
	return n.Text
}

func (r *lockReader) locked(n *strictjson.Node) (s Locked) {
	r.object(n, func(name string, n *strictjson.Node) {
		switch name {
		case "source":
			s.Source = r.text(n)
		case "revision":
			s.Revision = r.text(n)
		case "author":
			s.Author = r.text(n)
		case "name":
			s.Name = r.text(n)
		case "version":
			s.Version = r.text(n)
		case "digest":
			s.Digest = pack.Digest(r.text(n))
		case "format":
			s.Format = pack.Format(r.text(n))
		case "signed":
			r.is(n.Kind == strictjson.Bool)
			s.Signed = n.Text == "true"
		case "signers":
			s.Signers = listOf(r, n, r.text)
		case "executable":
			s.Executable = listOf(r, n, r.text)
		case "targets":
			s.Targets = listOf(r, n, r.target)
		case "history":
			s.History = listOf(r, n, r.past)
		default:
			r.is(false)
		}
	})
	return s
}

func listOf[T any](r *lockReader, n *strictjson.Node, element func(*strictjson.Node) T) []T {
	r.is(n.Kind == strictjson.Array)
	out := make([]T, len(n.Elems))
	for i, e := range n.Elems {
		out[i] = element(e)
	}
	return out
}

func (r *lockReader) target(n *strictjson.Node) (t Target) {
	r.object(n, func(name string, n *strictjson.Node) {
		switch name {
		case "dir":
			t.Dir = r.text(n)
		case "agents":
			t.Agents = listOf(r, n, r.text)
		case "mode":
			t.Mode = TargetMode(r.text(n))
		case "digest":
			t.Digest = pack.Digest(r.text(n))
		default:
			r.is(false)
		}
	})
	return t
}

func (r *lockReader) past(n *strictjson.Node) (p Past) {
	r.object(n, func(name string, n *strictjson.Node) {
		switch name {
		case "source":
			p.Source = r.text(n)
		case "revision":
			p.Revision = r.text(n)
		case "version":
			p.Version = r.text(n)
		case "digest":
			p.Digest = pack.Digest(r.text(n))
		default:
			r.is(false)
		}
	})
	return p
}
