package cli

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hub/embed"
	"github.com/kortecx/kx/hub/sqlstore"
	"github.com/kortecx/kx/hub/webhook"
	"github.com/kortecx/kx/sign"
)

// webhookSecret is the environment variable with the secret that receivers of
// webhooks know.
const webhookSecret = "KX_WEBHOOK_SECRET"

// hooks are the addresses of --webhook.
func (a *app) hooks(c *cli.Command) ([]webhook.Hook, error) {
	var hooks []webhook.Hook
	for _, text := range c.StringSlice("webhook") {
		hook, err := webhook.ParseHook(text, sign.SecretFromEnv(a.Getenv(webhookSecret)))
		if err != nil {
			return nil, err
		}
		hooks = append(hooks, hook)
	}
	if len(hooks) > 0 && len(hooks[0].Secret) == 0 {
		a.note("%s: warning: webhooks are not signed; receivers cannot tell them from a stranger's. Set %s", a.program, webhookSecret)
	}
	return hooks, nil
}

// knownTenants refuses a hook of a tenant that a hub which is not there yet cannot have,
// before it is made.
func (a *app) knownTenants(c *cli.Command, dir string, hooks []webhook.Hook) error {
	if a.databaseURL(c) != "" {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, sqlstore.FileName)); !errors.Is(err, fs.ErrNotExist) {
		return nil // the hub itself knows
	}
	for _, hook := range hooks {
		if hook.Tenant != hub.LocalTenant {
			return usagef("--webhook: there is no tenant %q: there is no hub in %s yet", hook.Tenant, dir).WithHint("kx hub tenant new %s --data %s", hook.Tenant, dir)
		}
	}
	return nil
}

// tell delivers to webhooks until ctx ends.
func (a *app) tell(ctx context.Context, h *hub.Hub, hooks []webhook.Hook, log *slog.Logger) {
	if len(hooks) == 0 {
		return
	}
	sender := webhook.Sender{
		Hub: h, Hooks: hooks, Transport: &http.Transport{},
		UserAgent: a.program + "/" + a.build().Version, Now: a.Now, Log: log,
	}
	sender.Run(ctx)
}

// embeddingsKey is the environment variable with the key of the embeddings endpoint.
const embeddingsKey = "KX_EMBEDDINGS_KEY"

// embedder is the endpoint of --embeddings-url, if there is one.
func (a *app) embedder(c *cli.Command, config *hub.Config) error {
	if c.String("embeddings-url") == "" {
		if c.IsSet("embeddings-model") || c.IsSet("embeddings-least") {
			return usagef("--embeddings-model and --embeddings-least need --embeddings-url")
		}
		return nil
	}
	least := c.Float("embeddings-least")
	if !(least > 0 && least < 1) {
		return usagef("--embeddings-least needs a number between 0 and 1")
	}
	client, err := embed.New(embed.Config{
		URL: c.String("embeddings-url"), Model: c.String("embeddings-model"), Key: a.Getenv(embeddingsKey),
		Transport: &http.Transport{}, UserAgent: a.program + "/" + a.build().Version,
	})
	if err != nil {
		return err
	}
	config.Embedder, config.LeastLikeness = client, least
	return nil
}

// embedTime is how often a server looks for releases whose meaning is not known.
const embedTime = 2 * time.Second

// embedPending has the meanings of releases looked up until ctx ends. Failures are
// said once, and tried again ever more seldom.
func embedPending(ctx context.Context, h *hub.Hub, log *slog.Logger) {
	pause, failing := embedTime, false
	for {
		made, err := h.EmbedPending(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failing {
				log.Warn("embeddings are not made; it is tried again", "error", err.Error())
			}
			pause, failing = min(2*pause, 5*time.Minute), true
		default:
			if made > 0 {
				log.Info("embeddings made", "releases", made)
			}
			pause, failing = embedTime, false
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}
