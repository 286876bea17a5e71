package pack

import (
	"testing"

	"pgregory.net/rapid"
)

// The quick look at a name must not pass what the careful one stops.
func TestPlainNamesArePortable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(
			rapid.StringMatching(`[A-Za-z0-9._~ -]{1,12}`),
			rapid.StringMatching(`(?i)(con|prn|aux|nul|com[0-9¹]|lpt[0-9]|git~1|conin\$)[. a-z~]{0,4}`),
			rapid.StringMatching(`[a-zé.-]{1,10}`),
		).Draw(t, "name")
		if err := judgeComponent(name, name); err != nil && plainName(name) {
			t.Fatalf("%q is passed although %v", name, err)
		}
	})
}
