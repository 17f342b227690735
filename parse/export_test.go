package parse

// The reasons of an Ignored, for tests.
var (
	ErrSyntax   = errSyntax
	ErrType     = errType
	ErrRange    = errRange
	ErrMissing  = errMissing
	ErrConflict = errConflict
)

// WithoutCommon makes a Reader read all fields by the rows.
func WithoutCommon(r *Reader) *Reader {
	t := *r.rows()
	t.common = false
	r.table.Store(&t)
	return r
}
