// Package embed asks an embeddings endpoint, of the form that OpenAI's API gave it
// and many local model servers share, what texts mean. It sends what releases say of
// themselves and what people search for, so it is the operator who names the
// endpoint; nothing is sent without.
//
// Call New.
package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"

	"github.com/kortecx/kx/hub"
	"github.com/kortecx/kx/hubapi"
	"github.com/kortecx/kx/internal/strictjson"
)

// maxAnswer bounds what is read of one answer: 64 vectors of 8,192 numbers as text.
const maxAnswer = 16 << 20

// Config says which endpoint.
type Config struct {
	URL       string // of the API: /embeddings is appended unless it ends so
	Model     string
	Key       string // shown as a bearer token; empty: none
	Transport http.RoundTripper
	UserAgent string
}

// Client is an endpoint. It is safe for concurrent use.
type Client struct {
	url   string
	host  string
	model string
	key   string
	agent string
	http  *http.Client
}

var _ hub.Embedder = (*Client)(nil)

// New makes a client. It does not connect. The address is the operator's own, so one
// on this machine or in a private network is fine.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Fragment != "" {
		return nil, hubapi.Errorf(hubapi.Usage, "the embeddings endpoint needs an http or https address without a user").
			WithHint("such as http://127.0.0.1:11434/v1")
	}
	if strings.TrimSpace(c.Model) == "" {
		return nil, hubapi.Errorf(hubapi.Usage, "the embeddings endpoint needs the name of a model")
	}
	if !strings.HasSuffix(u.Path, "/embeddings") {
		u.Path = strings.TrimSuffix(u.Path, "/") + "/embeddings"
	}
	return &Client{
		url: u.String(), host: u.Host, model: c.Model, key: c.Key, agent: c.UserAgent,
		http: &http.Client{Transport: c.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("it answers with a redirect, which is not followed")
		}},
	}, nil
}

// Model names the model and where it is served: two servers may call different ones
// alike.
func (c *Client) Model() string { return c.model + "@" + c.host }

// Embed gives one vector for each text, in their order. Errors name the host, never
// the key.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	answer, err := c.post(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("the embeddings endpoint at %s: %w", c.host, err)
	}
	out, err := readAnswer(answer, len(texts))
	if err != nil {
		return nil, fmt.Errorf("the embeddings endpoint at %s: %w", c.host, err)
	}
	return out, nil
}

func (c *Client) post(ctx context.Context, texts []string) ([]byte, error) {
	body, err := json.Marshal(struct {
		Model  string   `json:"model"`
		Input  []string `json:"input"`
		Format string   `json:"encoding_format"`
	}{c.model, texts, "float"})
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", c.agent)
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	res, err := c.http.Do(r)
	if err != nil {
		if e, ok := errors.AsType[*url.Error](err); ok {
			return nil, e.Err // without the address
		}
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers %d", res.StatusCode)
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("its answer has more than %d MiB", maxAnswer>>20)
	}
	return answer, nil
}

// readAnswer takes an answer for n texts. What an endpoint says besides is passed
// over: every server adds something of its own.
func readAnswer(data []byte, n int) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := strictjson.UnmarshalLax(data, &answer); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	if len(answer.Data) != n {
		return nil, fmt.Errorf("it answers with %d vectors for %d texts", len(answer.Data), n)
	}
	out := make([][]float32, n)
	for _, item := range answer.Data {
		switch {
		case item.Index < 0 || item.Index >= n || out[item.Index] != nil:
			return nil, fmt.Errorf("it answers with vector number %d of %d texts", item.Index, n)
		case len(item.Embedding) == 0 || len(item.Embedding) != len(answer.Data[0].Embedding):
			return nil, errors.New("its vectors are empty, or of several lengths")
		}
		for _, x := range item.Embedding {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return nil, errors.New("its vectors hold what is no number")
			}
		}
		out[item.Index] = item.Embedding
	}
	return out, nil
}
