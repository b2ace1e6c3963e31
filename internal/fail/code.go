package fail

import "net/http"

// Code names a kind of failure. Each has one SQLSTATE, one gRPC status and one
// HTTP status; the table below is pinned by a golden test.
type Code uint16

// The codes. Names are stable: they travel as problem+json "code" and in trailers.
const (
	OK Code = iota
	Syntax
	NoData
	UndefinedTable
	UndefinedColumn
	UndefinedFunction
	UndefinedNamespace
	UndefinedParameter
	AmbiguousColumn
	AmbiguousName
	DuplicateObject
	DuplicateColumn
	WrongObjectType
	Grouping
	DatatypeMismatch
	InvalidParameter
	InvalidText
	InvalidDatetime
	OutOfRange
	DivisionByZero
	NotNull
	Dependents
	InvalidObject
	TextTooLong
	Cardinality
	Unsupported
	InvalidVector
	InvalidJSON
	InvalidEncoding
	TooLarge
	TooDeep
	BadRequest
	InvalidTicket
	TicketExpired
	SnapshotExpired
	ConsistencyTimeout
	Unauthenticated
	PermissionDenied
	Exhausted
	BacklogFull
	Unavailable
	Canceled
	DeadlineExceeded
	CommitUnknown
	Conflict
	Corrupt
	Locked
	Windowing
	InvalidRecursion
	UndefinedObject
	InvalidReference
	FrameSize
	NtileArgument
	NthValueArgument
	DiskFull
	OffsetExpired
	ProducerFenced
	ProducerGap
	UndefinedTag
	Internal
	numCodes
)

// gRPC status numbers (google.golang.org/grpc/codes), named here so that this
// package stays free of the wire. FailedPrecondition, Aborted and OutOfRange are
// not used: Flight SQL drivers map them to UNKNOWN.
const (
	grpcCanceled          = 1
	grpcInvalidArgument   = 3
	grpcDeadlineExceeded  = 4
	grpcNotFound          = 5
	grpcAlreadyExists     = 6
	grpcPermissionDenied  = 7
	grpcResourceExhausted = 8
	grpcUnimplemented     = 12
	grpcInternal          = 13
	grpcUnavailable       = 14
	grpcUnauthenticated   = 16
)

type codeRow struct {
	name     string
	sqlstate string
	grpc     uint32
	http     int
}

var codeTable = [numCodes]codeRow{
	OK:                 {"ok", "00000", 0, http.StatusOK},
	Syntax:             {"syntax_error", "42601", grpcInvalidArgument, http.StatusBadRequest},
	NoData:             {"no_data", "02000", grpcNotFound, http.StatusNotFound},
	UndefinedTable:     {"undefined_table", "42P01", grpcNotFound, http.StatusNotFound},
	UndefinedColumn:    {"undefined_column", "42703", grpcInvalidArgument, http.StatusBadRequest},
	UndefinedFunction:  {"undefined_function", "42883", grpcInvalidArgument, http.StatusBadRequest},
	UndefinedNamespace: {"undefined_namespace", "3F000", grpcNotFound, http.StatusNotFound},
	UndefinedParameter: {"undefined_parameter", "42P02", grpcInvalidArgument, http.StatusBadRequest},
	AmbiguousColumn:    {"ambiguous_column", "42702", grpcInvalidArgument, http.StatusBadRequest},
	AmbiguousName:      {"ambiguous_name", "42725", grpcInvalidArgument, http.StatusBadRequest},
	DuplicateObject:    {"duplicate_object", "42P07", grpcAlreadyExists, http.StatusConflict},
	DuplicateColumn:    {"duplicate_column", "42701", grpcInvalidArgument, http.StatusBadRequest},
	WrongObjectType:    {"wrong_object_type", "42809", grpcInvalidArgument, http.StatusBadRequest},
	Grouping:           {"grouping_error", "42803", grpcInvalidArgument, http.StatusBadRequest},
	DatatypeMismatch:   {"datatype_mismatch", "42804", grpcInvalidArgument, http.StatusBadRequest},
	InvalidParameter:   {"invalid_parameter_value", "22023", grpcInvalidArgument, http.StatusBadRequest},
	InvalidText:        {"invalid_text_representation", "22P02", grpcInvalidArgument, http.StatusBadRequest},
	InvalidDatetime:    {"invalid_datetime", "22007", grpcInvalidArgument, http.StatusBadRequest},
	OutOfRange:         {"numeric_value_out_of_range", "22003", grpcInvalidArgument, http.StatusBadRequest},
	DivisionByZero:     {"division_by_zero", "22012", grpcInvalidArgument, http.StatusBadRequest},
	NotNull:            {"not_null_violation", "23502", grpcInvalidArgument, http.StatusBadRequest},
	Dependents:         {"dependent_objects_still_exist", "2BP01", grpcInvalidArgument, http.StatusConflict},
	InvalidObject:      {"invalid_object_definition", "42P17", grpcInvalidArgument, http.StatusBadRequest},
	TextTooLong:        {"string_data_right_truncation", "22001", grpcInvalidArgument, http.StatusBadRequest},
	Cardinality:        {"cardinality_violation", "21000", grpcInvalidArgument, http.StatusBadRequest},
	Unsupported:        {"feature_not_supported", "0A000", grpcUnimplemented, http.StatusNotImplemented},
	InvalidVector:      {"invalid_vector", "22L01", grpcInvalidArgument, http.StatusBadRequest},
	InvalidJSON:        {"invalid_json", "22032", grpcInvalidArgument, http.StatusBadRequest},
	InvalidEncoding:    {"invalid_encoding", "22021", grpcInvalidArgument, http.StatusBadRequest},
	TooLarge:           {"program_limit_exceeded", "54000", grpcInvalidArgument, http.StatusRequestEntityTooLarge},
	TooDeep:            {"statement_too_complex", "54001", grpcInvalidArgument, http.StatusBadRequest},
	BadRequest:         {"protocol_violation", "08P01", grpcInvalidArgument, http.StatusBadRequest},
	InvalidTicket:      {"invalid_ticket", "08L01", grpcInvalidArgument, http.StatusBadRequest},
	TicketExpired:      {"ticket_expired", "08L02", grpcNotFound, http.StatusGone},
	SnapshotExpired:    {"snapshot_expired", "72000", grpcNotFound, http.StatusGone},
	OffsetExpired:      {"offset_expired", "72001", grpcNotFound, http.StatusGone},
	ProducerFenced:     {"producer_fenced", "55L01", grpcInvalidArgument, http.StatusConflict},
	ProducerGap:        {"producer_sequence_gap", "55L02", grpcInvalidArgument, http.StatusConflict},
	ConsistencyTimeout: {"consistency_timeout", "57L01", grpcDeadlineExceeded, http.StatusGatewayTimeout},
	Unauthenticated:    {"unauthenticated", "28000", grpcUnauthenticated, http.StatusUnauthorized},
	PermissionDenied:   {"permission_denied", "42501", grpcPermissionDenied, http.StatusForbidden},
	Exhausted:          {"insufficient_resources", "53000", grpcResourceExhausted, http.StatusTooManyRequests},
	BacklogFull:        {"backlog_full", "53400", grpcResourceExhausted, http.StatusTooManyRequests},
	DiskFull:           {"disk_full", "53100", grpcResourceExhausted, http.StatusInsufficientStorage},
	Unavailable:        {"unavailable", "57P03", grpcUnavailable, http.StatusServiceUnavailable},
	Canceled:           {"query_canceled", "57014", grpcCanceled, 499},
	DeadlineExceeded:   {"deadline_exceeded", "57015", grpcDeadlineExceeded, http.StatusGatewayTimeout},
	CommitUnknown:      {"commit_unknown", "08007", grpcUnavailable, http.StatusServiceUnavailable},
	Conflict:           {"serialization_failure", "40001", grpcUnavailable, http.StatusConflict},
	Corrupt:            {"data_corrupted", "XX001", grpcInternal, http.StatusInternalServerError},
	Locked:             {"lock_not_available", "55P03", grpcUnavailable, http.StatusServiceUnavailable},
	Windowing:          {"windowing_error", "42P20", grpcInvalidArgument, http.StatusBadRequest},
	InvalidRecursion:   {"invalid_recursion", "42P19", grpcInvalidArgument, http.StatusBadRequest},
	UndefinedTag:       {"undefined_tag", "42L01", grpcNotFound, http.StatusNotFound},
	UndefinedObject:    {"undefined_object", "42704", grpcInvalidArgument, http.StatusBadRequest},
	InvalidReference:   {"invalid_column_reference", "42P10", grpcInvalidArgument, http.StatusBadRequest},
	FrameSize:          {"invalid_preceding_or_following_size", "22013", grpcInvalidArgument, http.StatusBadRequest},
	NtileArgument:      {"invalid_argument_for_ntile_function", "22014", grpcInvalidArgument, http.StatusBadRequest},
	NthValueArgument:   {"invalid_argument_for_nth_value_function", "22016", grpcInvalidArgument, http.StatusBadRequest},
	Internal:           {"internal_error", "XX000", grpcInternal, http.StatusInternalServerError},
}

// String is the stable name of the code, such as "undefined_table".
func (c Code) String() string {
	if c >= numCodes {
		return "internal_error"
	}
	return codeTable[c].name
}

// SQLState is the five-character SQLSTATE (class 22L, 57L, 08L: Loam's own).
func (c Code) SQLState() string { return codeTable[min(c, Internal)].sqlstate }

// GRPC is the number of the gRPC status code.
func (c Code) GRPC() uint32 { return codeTable[min(c, Internal)].grpc }

// HTTP is the HTTP status code.
func (c Code) HTTP() int { return codeTable[min(c, Internal)].http }

// CodeNamed is the code of a stable name; false for a name that there is not.
func CodeNamed(name string) (Code, bool) {
	for c := range numCodes {
		if codeTable[c].name == name {
			return c, true
		}
	}
	return Internal, false
}
