# go test ./... is all that a change needs; these are the long ones.

.PHONY: test reliability

test:
	go test ./...

# The long sizes of the reliability tests and the table of growth: about an hour.
# Rewrites the figures in docs/reliability.md.
reliability:
	.ci/reliability
