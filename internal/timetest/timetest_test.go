package timetest

import (
	"testing"
	"time"
)

func TestALimitIsNeverLess(t *testing.T) {
	t.Setenv("KX_TEST_ALL", "")
	alone := Limit(time.Second)
	t.Setenv("KX_TEST_ALL", "1")
	if shared := Limit(time.Second); alone < time.Second || shared <= alone {
		t.Errorf("%v alone, %v on a shared machine", alone, shared)
	}
}

// A budget that grew without reason would catch nothing.
func TestABudgetFollowsTheMachine(t *testing.T) {
	t.Logf("fixed work takes %.2f of the reference", pace())
	if got := Budget(time.Second); got < time.Second || got > 20*time.Second {
		t.Errorf("a budget of one second became %v", got)
	}
}
