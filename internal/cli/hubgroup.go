package cli

import "github.com/urfave/cli/v3"

// hubCommand is what an operator does with a hub itself.
func (a *app) hubCommand(category string) *cli.Command {
	subs := []*cli.Command{
		a.hubToken(),
		a.hubTenant(),
		a.hubWithdraw(),
		a.hubDeprecate(),
		a.hubFsck(),
		a.hubBackup(),
		a.hubRestore(),
		a.hubMigrate(),
		a.hubGC(),
		a.hubExport(),
		a.hubImport(),
	}
	return a.group("hub", "look after a hub: keys, tenants, backups, migrations, snapshots", category, subs...)
}
