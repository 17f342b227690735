package parse

// The reasons of an Ignored, for tests.
var (
	ErrSyntax   = errSyntax
	ErrType     = errType
	ErrRange    = errRange
	ErrMissing  = errMissing
	ErrConflict = errConflict
)
