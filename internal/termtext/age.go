package termtext

import (
	"fmt"
	"time"
)

// Ago says in a few words how long ago something was.
func Ago(age time.Duration) string {
	switch {
	case age < time.Second:
		return "now"
	case age < 2*time.Minute:
		return fmt.Sprintf("%d s ago", int(age.Seconds()))
	case age < 2*time.Hour:
		return fmt.Sprintf("%d min ago", int(age.Minutes()))
	case age < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(age.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(age.Hours()/24))
}
