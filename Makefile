# go test ./... is all that a change needs; these are the long ones.

.PHONY: test reliability delivery

test:
	go test ./...

# The long sizes of the reliability tests and the table of growth: about an hour.
# Rewrites the figures in docs/reliability.md.
reliability:
	.ci/reliability

# What it costs to bring skills to an agent, beside cp -r and other installers: about a
# quarter of an hour on a quiet machine. Rewrites the figures in docs/delivery.md.
delivery:
	.ci/delivery
