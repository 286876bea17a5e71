package deliver

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kortecx/kx/internal/fsx"
)

// BenchmarkInstall is one pack of three files into a target, durable.
func BenchmarkInstall(b *testing.B) {
	root, err := fsx.Open(b.TempDir())
	must(b, err)
	defer root.Close()
	p := kortecx(b, "hello", "1")
	for i := 0; b.Loop(); i++ {
		o := options()
		o.Slug = fmt.Sprint("s", i)
		_, err := Install(root, p, o)
		must(b, err)
	}
}

func many(b *testing.B, n int) []Item {
	items := make([]Item, n)
	for i := range items {
		items[i] = Item{skillMD(b, fmt.Sprint("skill-", i), "1"), options()}
	}
	return items
}

func installAll(b *testing.B, root fsx.Root, items []Item) {
	for _, r := range InstallAll(root, items, nil) {
		must(b, r.Err)
	}
}

func BenchmarkInstallAll(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			items := many(b, n)
			for b.Loop() {
				b.StopTimer()
				root, err := fsx.Open(b.TempDir())
				must(b, err)
				b.StartTimer()
				installAll(b, root, items)
				must(b, root.Close())
			}
		})
	}
}

// BenchmarkCopy is what BenchmarkInstallAll is measured against: cp -r of the same
// tree, which is not durable.
func BenchmarkCopy(b *testing.B) {
	dir := b.TempDir()
	root, err := fsx.Open(dir)
	must(b, err)
	defer root.Close()
	installAll(b, root, many(b, 1000))
	out := b.TempDir()
	for i := 0; b.Loop(); i++ {
		must(b, exec.Command("cp", "-r", dir, filepath.Join(out, fmt.Sprint(i))).Run())
	}
}

// BenchmarkUnchanged is a reconcile of 1,000 skills of which none changed.
func BenchmarkUnchanged(b *testing.B) {
	root, err := fsx.Open(b.TempDir())
	must(b, err)
	defer root.Close()
	items := many(b, 1000)
	installAll(b, root, items)
	b.Run("Check", func(b *testing.B) {
		for b.Loop() {
			for _, item := range items {
				s, err := Check(root, item.Pack.Name)
				must(b, err)
				if len(s.Differences) > 0 {
					b.Fatal(s.Differences)
				}
			}
		}
	})
	b.Run("InstallAll", func(b *testing.B) {
		for b.Loop() {
			installAll(b, root, items)
		}
	})
	b.Run("OneFileEach", func(b *testing.B) {
		root, err := fsx.Open(b.TempDir())
		must(b, err)
		defer root.Close()
		items := make([]Item, 1000)
		for i := range items {
			items[i] = Item{kortecx(b, fmt.Sprint("skill-", i), "1"), options()}
		}
		installAll(b, root, items)
		for b.Loop() {
			installAll(b, root, items)
		}
	})
	b.Run("List", func(b *testing.B) {
		for b.Loop() {
			if list, err := List(root); len(list) != 1000 {
				b.Fatal(err)
			}
		}
	})
}
