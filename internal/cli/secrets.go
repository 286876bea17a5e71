package cli

import (
	"io"

	"github.com/urfave/cli/v3"

	"github.com/kortecx/kx/internal/termtext"
	"github.com/kortecx/kx/sign"
)

// secretFlags say where the shared secret of an HMAC comes from.
func secretFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "secret-file", Usage: "the shared secret is the content of `FILE`, - for standard input (else KAZMA_SECRET)"},
		&cli.StringFlag{Name: "secret", Usage: "the shared secret is `TEXT`; others can see it in the list of processes, prefer --secret-file"},
	}
}

func previousSecretFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "previous-secret-file", Usage: "also accept the older secret in `FILE` (repeatable; else KAZMA_SECRET_PREVIOUS)"}
}

// secret finds the shared secret; nil when there is none. A given one that is
// empty is refused.
func (a *app) secret(c *cli.Command) ([]byte, error) {
	var secret []byte
	switch file := c.String("secret-file"); {
	case file != "" && c.IsSet("secret"):
		return nil, usagef("--secret and --secret-file exclude each other")
	case file == "-":
		data, err := io.ReadAll(io.LimitReader(a.Stdin, maxSecret+1))
		if err != nil {
			return nil, err
		}
		if len(data) > maxSecret {
			return nil, usagef("cannot read the secret: standard input holds more than %d bytes", maxSecret)
		}
		secret = sign.SecretFromFile(data)
	case file != "":
		data, err := readLimited(a.path(file), maxSecret)
		if err != nil {
			return nil, usagef("cannot read the secret: %v", err)
		}
		secret = sign.SecretFromFile(data)
	case c.String("secret") != "":
		a.note("%s: a secret on the command line can be seen by others and stays in the shell's history; use --secret-file or KAZMA_SECRET", a.program)
		secret = []byte(c.String("secret"))
	default:
		secret = sign.SecretFromEnv(a.Getenv("KAZMA_SECRET"))
		if len(secret) == 0 {
			return nil, nil
		}
	}
	warnings, err := sign.CheckSecret(secret)
	for _, w := range warnings {
		a.note("%s: %s", a.program, termtext.Escape(w))
	}
	return secret, err
}

// envSecrets are the secrets of the environment.
func (a *app) envSecrets() sign.Secrets {
	out := sign.Secrets{Current: sign.SecretFromEnv(a.Getenv("KAZMA_SECRET"))}
	if older := sign.SecretFromEnv(a.Getenv("KAZMA_SECRET_PREVIOUS")); len(older) > 0 {
		out.Previous = [][]byte{older}
	}
	return out
}

// withoutSecretFlag is for what a Kazma is to load.
func withoutSecretFlag() cli.Flag {
	return &cli.BoolFlag{Name: "without-secret", Usage: "take a kazma skill whose shared-secret signature cannot be checked, because KAZMA_SECRET is not set"}
}

// secrets are all that verification accepts.
func (a *app) secrets(c *cli.Command) (sign.Secrets, error) {
	current, err := a.secret(c)
	if err != nil {
		return sign.Secrets{}, err
	}
	all := sign.Secrets{Current: current}
	files := c.StringSlice("previous-secret-file")
	for _, file := range files {
		data, err := readLimited(a.path(file), maxSecret)
		if err != nil {
			return sign.Secrets{}, usagef("cannot read the previous secret: %v", err)
		}
		all.Previous = append(all.Previous, sign.SecretFromFile(data))
	}
	if older := sign.SecretFromEnv(a.Getenv("KAZMA_SECRET_PREVIOUS")); len(files) == 0 && len(older) > 0 {
		all.Previous = append(all.Previous, older)
	}
	return all, nil
}
