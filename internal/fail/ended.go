package fail

import (
	"context"
	"errors"
)

// Ended is nil while ctx runs, and then says what its end ended: "the scan was
// canceled". A canceller that knows better (a server that stops) gives its own
// error as the context's cause, and that is the answer then.
func Ended(ctx context.Context, what string) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	return endedBy(context.Cause(ctx), err, what)
}

// endedBy names the end err of a context whose cause is cause.
func endedBy(cause, err error, what string) *Error {
	var own *Error
	switch {
	case errors.As(cause, &own):
		return own
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: DeadlineExceeded, Message: what + " ran into its deadline", cause: err}
	}
	return &Error{Code: Canceled, Message: what + " was canceled", cause: err}
}

// CauseOf is err, or what ended the call where err says only that it ended: the
// cause that the context's canceller gave.
func CauseOf(ctx context.Context, err error) error {
	var own *Error
	if CodeOf(err) == Canceled && errors.As(context.Cause(ctx), &own) {
		return own
	}
	return err
}

// isEnd reports the bare error of a context.
func isEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// Stopping is the cause that a server gives to the calls that its stop ends.
func Stopping() *Error {
	return New(Unavailable, "the server is stopping and has ended the call").WithHint("Try again when it has started.")
}
