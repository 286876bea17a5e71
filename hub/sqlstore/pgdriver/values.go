package pgdriver

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5/pgconn"
)

// The OIDs of the types that are carried; they never change.
const (
	boolOID    = 16
	byteaOID   = 17
	nameOID    = 19
	int8OID    = 20
	int2OID    = 21
	int4OID    = 23
	textOID    = 25
	float8OID  = 701
	bpcharOID  = 1042
	varcharOID = 1043
)

// How a value is written: the server's text, or the bytes of its binary form.
const (
	asText   int16 = 0
	asBinary int16 = 1
)

// decoder turns a value that is not NULL into what database/sql scans.
type decoder func(src []byte) (driver.Value, error)

// codecs say in which format a column is asked for, and what becomes of it.
var codecs = map[uint32]struct {
	format int16
	decode decoder
}{
	boolOID:    {asBinary, decodeBool},
	byteaOID:   {asBinary, decodeBytes},
	int8OID:    {asBinary, decodeInt8},
	int2OID:    {asBinary, decodeInt2},
	int4OID:    {asBinary, decodeInt4},
	float8OID:  {asBinary, decodeFloat8},
	nameOID:    {asText, decodeText},
	textOID:    {asText, decodeText},
	bpcharOID:  {asText, decodeText},
	varcharOID: {asText, decodeText},
}

func decodeText(src []byte) (driver.Value, error) { return string(src), nil }

func decodeBytes(src []byte) (driver.Value, error) { return src, nil }

func decodeBool(src []byte) (driver.Value, error) {
	if len(src) != 1 {
		return nil, wrongSize("boolean", src)
	}
	return src[0] != 0, nil
}

func decodeInt8(src []byte) (driver.Value, error) {
	if len(src) != 8 {
		return nil, wrongSize("bigint", src)
	}
	return int64(binary.BigEndian.Uint64(src)), nil
}

func decodeInt4(src []byte) (driver.Value, error) {
	if len(src) != 4 {
		return nil, wrongSize("integer", src)
	}
	return int64(int32(binary.BigEndian.Uint32(src))), nil
}

func decodeInt2(src []byte) (driver.Value, error) {
	if len(src) != 2 {
		return nil, wrongSize("smallint", src)
	}
	return int64(int16(binary.BigEndian.Uint16(src))), nil
}

func decodeFloat8(src []byte) (driver.Value, error) {
	if len(src) != 8 {
		return nil, wrongSize("double precision", src)
	}
	return math.Float64frombits(binary.BigEndian.Uint64(src)), nil
}

func wrongSize(name string, src []byte) error {
	return fmt.Errorf("the server sent a %s of %d bytes", name, len(src))
}

// plain makes a parameter one of the few types that params.add knows.
func plain(v any) (driver.Value, error) {
	switch v := v.(type) {
	case nil, int64, string, []byte, bool, float64:
		return v, nil
	case int:
		return int64(v), nil
	}
	return driver.DefaultParameterConverter.ConvertValue(v)
}

// params are the values of one execution as they are sent. They are encoded into one
// buffer, which the connection uses again; long bytes are not copied there.
type params struct {
	values  [][]byte
	formats []int16
	buffer  []byte
}

// keptBuffer is how large a buffer may be that is kept for the next execution.
const keptBuffer = 64 << 10

func (p *params) clear() {
	clear(p.values)
	p.values, p.formats, p.buffer = p.values[:0], p.formats[:0], p.buffer[:0]
	if p.buffer == nil || cap(p.buffer) > keptBuffer {
		p.buffer = make([]byte, 0, 1024) // never nil: nil is NULL
	}
}

func (p *params) fill(s *statement, args []driver.NamedValue) error {
	if err := rightNumber(s.description, len(args)); err != nil {
		return err
	}
	p.clear()
	for i, arg := range args {
		if err := p.add(s.description.ParamOIDs[i], arg.Value); err != nil {
			return fmt.Errorf("parameter $%d: %w", i+1, err)
		}
	}
	return nil
}

func rightNumber(d *pgconn.StatementDescription, n int) error {
	if n != len(d.ParamOIDs) {
		return fmt.Errorf("the statement has %d parameters, %d were given: %s", len(d.ParamOIDs), n, d.SQL)
	}
	return nil
}

// add appends a value for a parameter of a type. Texts are sent as texts, which the
// server reads for every type; bytea alone has a text form that could be another value.
func (p *params) add(oid uint32, v driver.Value) error {
	from := len(p.buffer)
	format := asBinary
	ok := true
	switch v := v.(type) {
	case nil:
		p.values, p.formats = append(p.values, nil), append(p.formats, asBinary)
		return nil
	case []byte:
		if oid != byteaOID {
			return notCarried(v, oid)
		}
		p.values, p.formats = append(p.values, v), append(p.formats, asBinary)
		return nil
	case string:
		ok = oid != byteaOID
		format = asText
		p.buffer = append(p.buffer, v...)
	case bool:
		ok = oid == boolOID
		p.buffer = append(p.buffer, 0)
		if v {
			p.buffer[from] = 1
		}
	case float64:
		ok = oid == float8OID
		p.buffer = binary.BigEndian.AppendUint64(p.buffer, math.Float64bits(v))
	case int64:
		switch {
		case oid == int8OID:
			p.buffer = binary.BigEndian.AppendUint64(p.buffer, uint64(v))
		case oid == int4OID && v == int64(int32(v)):
			p.buffer = binary.BigEndian.AppendUint32(p.buffer, uint32(v))
		case oid == int2OID && v == int64(int16(v)):
			p.buffer = binary.BigEndian.AppendUint16(p.buffer, uint16(v))
		case oid == int4OID, oid == int2OID:
			return fmt.Errorf("%d does not fit the type with the OID %d", v, oid)
		default:
			ok = false
		}
	default:
		ok = false
	}
	if !ok {
		return notCarried(v, oid)
	}
	p.values, p.formats = append(p.values, p.buffer[from:len(p.buffer):len(p.buffer)]), append(p.formats, format)
	return nil
}

func notCarried(v any, oid uint32) error {
	return fmt.Errorf("a %T is not carried to the type with the OID %d; cast the parameter in the statement", v, oid)
}
