package cli

import (
	"context"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/conformance"
)

func (a *app) schemaCommand() *cli.Command {
	names := strings.Join(conformance.SchemaNames(), ", ")
	return a.leaf("schema", "print the JSON Schema of a manifest or a report", spec{
		args: "[NAME]", max: 1,
		long: "For editors and other programs. The schemas are: " + names + ".\n" +
			"Without a NAME their names are listed. They refuse nothing that kx accepts; what JSON Schema cannot say\n" +
			"(duplicate keys, sizes in bytes) only kx check finds.",
		choices: map[string][]string{"": conformance.SchemaNames()},
		examples: []example{
			{"schema", "list the schemas"},
			{"schema kortecx", "the schema of skill.json"},
		},
	}, []cli.Flag{jsonFlag()}, func(_ context.Context, c *cli.Command) error {
		name := c.Args().First()
		if name == "" {
			if c.Bool("json") {
				return a.printJSON(map[string][]string{"schemas": conformance.SchemaNames()})
			}
			for _, n := range conformance.SchemaNames() {
				a.printf("%s\n", n)
			}
			return nil
		}
		schema, ok := conformance.Schema(name)
		if !ok {
			e := usagef("no schema %q; there are: %s", name, names)
			if near := nearest(name, conformance.SchemaNames()); near != "" {
				e.Hint = "did you mean " + near + "?"
			}
			return e
		}
		a.printed = true
		_, err := a.Stdout.Write(schema)
		return err
	})
}
