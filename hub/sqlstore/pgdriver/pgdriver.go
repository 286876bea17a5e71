// Package pgdriver speaks PostgreSQL to database/sql, through pgconn alone: it
// carries the few types that a hub keeps (numbers, flags, texts, bytes), and refuses
// every other by its OID. It knows no table and no statement of the hub.
//
// pgx's own driver for database/sql registers a codec for every type that PostgreSQL
// has, whether it is used or not, which makes a program 3 MB larger.
//
// Call ParseConfig, then NewConnector.
package pgdriver

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Config says how a database is reached.
type Config struct {
	*pgconn.Config
	// Statements is how many prepared statements each connection keeps; the one that
	// was used least recently gives way.
	Statements int
	// Now is the clock. Without one, a connection is asked whether it still stands each
	// time that it comes from the pool; with it, only after a second there, as with pgx.
	Now func() time.Time
}

// unasked is for how long a connection may lie in the pool and be used again unasked.
const unasked = time.Second

// defaultStatements is what Statements is without a word in the URL.
const defaultStatements = 512

// errURL quotes nothing: a URL that cannot be read may have its password anywhere.
var errURL = errors.New("the database URL cannot be read")

// pgx reads these parameters of a URL; the server would refuse them.
const (
	statementCapacity   = "statement_cache_capacity"
	descriptionCapacity = "description_cache_capacity"
	executionMode       = "default_query_exec_mode"
)

var executionModes = []string{"cache_statement", "cache_describe", "describe_exec", "exec", "simple_protocol"}

// ParseConfig reads postgres://USER:PASSWORD@HOST/NAME?PARAMETER=VALUE with what
// pgconn knows: several hosts, sockets, TLS, the PG… environment. The parameters of
// pgx's own are checked as pgx checks them. Of these statement_cache_capacity is
// heeded where it is above 0; default_query_exec_mode and description_cache_capacity
// are not: statements are always prepared. The error quotes nothing of the URL.
func ParseConfig(url string) (Config, error) {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return Config{}, errURL
	}
	out := Config{Config: config, Statements: defaultStatements}
	for _, name := range []string{statementCapacity, descriptionCapacity} {
		value, set := take(config, name)
		if !set {
			continue
		}
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return Config{}, errURL
		}
		if name == statementCapacity && n > 0 {
			out.Statements = int(n)
		}
	}
	if mode, set := take(config, executionMode); set && !slices.Contains(executionModes, mode) {
		return Config{}, errURL
	}
	return out, nil
}

func take(config *pgconn.Config, name string) (value string, set bool) {
	value, set = config.RuntimeParams[name]
	delete(config.RuntimeParams, name)
	return value, set
}

// Connector makes connections for sql.OpenDB.
type Connector struct{ config Config }

// NewConnector takes the config over: nobody may change it any more.
func NewConnector(config Config) *Connector { return &Connector{config} }

// Connect implements driver.Connector. The error is a *pgconn.ConnectError.
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	pg, err := pgconn.ConnectConfig(ctx, c.config.Config)
	if err != nil {
		return nil, err
	}
	return newConn(pg, c.config), nil
}

// Driver implements driver.Connector.
func (c *Connector) Driver() driver.Driver { return byURL{} }

// byURL is what database/sql wants a connector to belong to. It is not registered.
type byURL struct{}

// Open implements driver.Driver.
func (byURL) Open(url string) (driver.Conn, error) {
	config, err := ParseConfig(url)
	if err != nil {
		return nil, err
	}
	return NewConnector(config).Connect(context.Background())
}
