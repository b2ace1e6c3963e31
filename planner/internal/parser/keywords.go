package parser

// keyword numbers a word that the grammar knows; 0 is any other word.
type keyword uint16

// The words of the grammar, in three classes. Soft words are legal names
// everywhere. Words from kwAsof on are legal names but not aliases without AS,
// because a clause may begin with them. Words from kwAll on are reserved: as a
// name they need double quotes, except after AS and after a dot.
const (
	noKeyword keyword = iota
	kwAbort
	kwAdd
	kwAfter
	kwAlter
	kwAlways
	kwAnalyze
	kwAnti
	kwAny
	kwAsymmetric
	kwAt
	kwAuthorization
	kwBegin
	kwBernoulli
	kwBoth
	kwBy
	kwCascade
	kwCast
	kwCatalog
	kwChar
	kwCharacter
	kwCollection
	kwCollections
	kwColumn
	kwColumns
	kwComment
	kwCommit
	kwCommitted
	kwConflict
	kwCube
	kwCurrent
	kwCurrentCatalog
	kwCurrentDate
	kwCurrentRole
	kwCurrentSchema
	kwCurrentTime
	kwCurrentTimestamp
	kwCurrentUser
	kwD
	kwData
	kwDatabases
	kwDate
	kwDatetime
	kwDay
	kwDecode
	kwDelete
	kwDescribe
	kwDistance
	kwDo
	kwDouble
	kwDrain
	kwDrop
	kwEarliest
	kwError
	kwExclude
	kwExists
	kwExplain
	kwExtract
	kwFilter
	kwFirst
	kwFn
	kwFollowing
	kwFormat
	kwFulltext
	kwFunctions
	kwGenerated
	kwGrouping
	kwGroups
	kwHour
	kwIf
	kwIgnore
	kwInsert
	kwInterval
	kwIsolation
	kwJson
	kwKeep
	kwKey
	kwLambda
	kwLast
	kwLatest
	kwLeading
	kwLevel
	kwLink
	kwLinks
	kwList
	kwLocal
	kwLocaltime
	kwLocaltimestamp
	kwMap
	kwMaterialized
	kwMicrosecond
	kwMillisecond
	kwMinute
	kwModifier
	kwMonth
	kwName
	kwNamespace
	kwNamespaces
	kwNanosecond
	kwNext
	kwNo
	kwNothing
	kwNulls
	kwOf
	kwOffsets
	kwOnly
	kwOrdinality
	kwOthers
	kwOver
	kwOverlay
	kwOverwrite
	kwPartition
	kwPartitions
	kwPause
	kwPaused
	kwPercent
	kwPlacing
	kwPosition
	kwPreceding
	kwPrecision
	kwQuarter
	kwRange
	kwRead
	kwReason
	kwRecursive
	kwRename
	kwRepeatable
	kwReplace
	kwReplay
	kwReset
	kwRespect
	kwRestrict
	kwResume
	kwRollback
	kwRollup
	kwRow
	kwRows
	kwSchema
	kwSchemas
	kwSearch
	kwSecond
	kwSecurity
	kwSerializable
	kwSession
	kwSessionUser
	kwSets
	kwShow
	kwSigned
	kwSparse
	kwStart
	kwStored
	kwStream
	kwStreams
	kwStruct
	kwSubstr
	kwSubstring
	kwSymmetric
	kwSystem
	kwSystemTime
	kwT
	kwTables
	kwTag
	kwTags
	kwTarget
	kwTemp
	kwTemporary
	kwText
	kwTies
	kwTime
	kwTimestamp
	kwTimestamptz
	kwTimetz
	kwTo
	kwToken
	kwTop
	kwTrailing
	kwTransaction
	kwTransform
	kwTrim
	kwTruncate
	kwTryCast
	kwTs
	kwType
	kwUnbounded
	kwUnknown
	kwUnsigned
	kwUpdate
	kwUse
	kwUuid
	kwValidate
	kwVarying
	kwVector
	kwVerbose
	kwVersion
	kwView
	kwViews
	kwWeek
	kwWithout
	kwWithin
	kwWork
	kwWrite
	kwYear
	kwZone

	kwAsof
	kwEscape
	kwFetch
	kwIsnull
	kwNotnull
	kwOffset
	kwSemi
	kwSet
	kwSimilar
	kwTablesample
	kwWindow

	kwAll
	kwAnd
	kwArray
	kwAs
	kwAsc
	kwBetween
	kwCase
	kwCheck
	kwCollate
	kwConstraint
	kwCreate
	kwCross
	kwDefault
	kwDesc
	kwDistinct
	kwElse
	kwEnd
	kwExcept
	kwFalse
	kwFor
	kwFrom
	kwFull
	kwGroup
	kwHaving
	kwIlike
	kwIn
	kwInner
	kwIntersect
	kwInto
	kwIs
	kwJoin
	kwLateral
	kwLeft
	kwLike
	kwLimit
	kwNatural
	kwNot
	kwNull
	kwOn
	kwOr
	kwOrder
	kwOuter
	kwPrimary
	kwQualify
	kwReturning
	kwRight
	kwSelect
	kwSome
	kwTable
	kwThen
	kwTrue
	kwUnion
	kwUnique
	kwUsing
	kwValues
	kwWhen
	kwWhere
	kwWith
	numKeywords
)

const (
	firstNoAlias  = kwAsof
	firstReserved = kwAll
)

// keywordText is the upper-case text of each keyword.
var keywordText = [numKeywords]string{
	kwAbort:            "ABORT",
	kwAdd:              "ADD",
	kwAfter:            "AFTER",
	kwAlter:            "ALTER",
	kwAlways:           "ALWAYS",
	kwAnalyze:          "ANALYZE",
	kwAnti:             "ANTI",
	kwAny:              "ANY",
	kwAsymmetric:       "ASYMMETRIC",
	kwAt:               "AT",
	kwAuthorization:    "AUTHORIZATION",
	kwBegin:            "BEGIN",
	kwBernoulli:        "BERNOULLI",
	kwBoth:             "BOTH",
	kwBy:               "BY",
	kwCascade:          "CASCADE",
	kwCast:             "CAST",
	kwCatalog:          "CATALOG",
	kwChar:             "CHAR",
	kwCharacter:        "CHARACTER",
	kwCollection:       "COLLECTION",
	kwCollections:      "COLLECTIONS",
	kwColumn:           "COLUMN",
	kwColumns:          "COLUMNS",
	kwComment:          "COMMENT",
	kwCommit:           "COMMIT",
	kwCommitted:        "COMMITTED",
	kwConflict:         "CONFLICT",
	kwCube:             "CUBE",
	kwCurrent:          "CURRENT",
	kwCurrentCatalog:   "CURRENT_CATALOG",
	kwCurrentDate:      "CURRENT_DATE",
	kwCurrentRole:      "CURRENT_ROLE",
	kwCurrentSchema:    "CURRENT_SCHEMA",
	kwCurrentTime:      "CURRENT_TIME",
	kwCurrentTimestamp: "CURRENT_TIMESTAMP",
	kwCurrentUser:      "CURRENT_USER",
	kwD:                "D",
	kwData:             "DATA",
	kwDatabases:        "DATABASES",
	kwDate:             "DATE",
	kwDatetime:         "DATETIME",
	kwDay:              "DAY",
	kwDecode:           "DECODE",
	kwDelete:           "DELETE",
	kwDescribe:         "DESCRIBE",
	kwDistance:         "DISTANCE",
	kwDo:               "DO",
	kwDouble:           "DOUBLE",
	kwDrain:            "DRAIN",
	kwDrop:             "DROP",
	kwEarliest:         "EARLIEST",
	kwError:            "ERROR",
	kwExclude:          "EXCLUDE",
	kwExists:           "EXISTS",
	kwExplain:          "EXPLAIN",
	kwExtract:          "EXTRACT",
	kwFirst:            "FIRST",
	kwFn:               "FN",
	kwFollowing:        "FOLLOWING",
	kwFormat:           "FORMAT",
	kwFulltext:         "FULLTEXT",
	kwFunctions:        "FUNCTIONS",
	kwGenerated:        "GENERATED",
	kwGrouping:         "GROUPING",
	kwGroups:           "GROUPS",
	kwHour:             "HOUR",
	kwIf:               "IF",
	kwIgnore:           "IGNORE",
	kwInsert:           "INSERT",
	kwInterval:         "INTERVAL",
	kwIsolation:        "ISOLATION",
	kwJson:             "JSON",
	kwKeep:             "KEEP",
	kwKey:              "KEY",
	kwLambda:           "LAMBDA",
	kwLast:             "LAST",
	kwLatest:           "LATEST",
	kwLeading:          "LEADING",
	kwLevel:            "LEVEL",
	kwLink:             "LINK",
	kwLinks:            "LINKS",
	kwList:             "LIST",
	kwLocal:            "LOCAL",
	kwLocaltime:        "LOCALTIME",
	kwLocaltimestamp:   "LOCALTIMESTAMP",
	kwMap:              "MAP",
	kwMaterialized:     "MATERIALIZED",
	kwMicrosecond:      "MICROSECOND",
	kwMillisecond:      "MILLISECOND",
	kwMinute:           "MINUTE",
	kwModifier:         "MODIFIER",
	kwMonth:            "MONTH",
	kwName:             "NAME",
	kwNamespace:        "NAMESPACE",
	kwNamespaces:       "NAMESPACES",
	kwNanosecond:       "NANOSECOND",
	kwNext:             "NEXT",
	kwNo:               "NO",
	kwNothing:          "NOTHING",
	kwNulls:            "NULLS",
	kwOf:               "OF",
	kwOffsets:          "OFFSETS",
	kwOnly:             "ONLY",
	kwOrdinality:       "ORDINALITY",
	kwOthers:           "OTHERS",
	kwOverlay:          "OVERLAY",
	kwOverwrite:        "OVERWRITE",
	kwPartition:        "PARTITION",
	kwPartitions:       "PARTITIONS",
	kwPause:            "PAUSE",
	kwPaused:           "PAUSED",
	kwPercent:          "PERCENT",
	kwPlacing:          "PLACING",
	kwPosition:         "POSITION",
	kwPreceding:        "PRECEDING",
	kwPrecision:        "PRECISION",
	kwQuarter:          "QUARTER",
	kwRange:            "RANGE",
	kwRead:             "READ",
	kwReason:           "REASON",
	kwRecursive:        "RECURSIVE",
	kwRename:           "RENAME",
	kwRepeatable:       "REPEATABLE",
	kwReplace:          "REPLACE",
	kwReplay:           "REPLAY",
	kwReset:            "RESET",
	kwRespect:          "RESPECT",
	kwRestrict:         "RESTRICT",
	kwResume:           "RESUME",
	kwRollback:         "ROLLBACK",
	kwRollup:           "ROLLUP",
	kwRow:              "ROW",
	kwRows:             "ROWS",
	kwSchema:           "SCHEMA",
	kwSchemas:          "SCHEMAS",
	kwSearch:           "SEARCH",
	kwSecond:           "SECOND",
	kwSecurity:         "SECURITY",
	kwSerializable:     "SERIALIZABLE",
	kwSession:          "SESSION",
	kwSessionUser:      "SESSION_USER",
	kwSets:             "SETS",
	kwShow:             "SHOW",
	kwSigned:           "SIGNED",
	kwSparse:           "SPARSE",
	kwStart:            "START",
	kwStored:           "STORED",
	kwStream:           "STREAM",
	kwStreams:          "STREAMS",
	kwStruct:           "STRUCT",
	kwSubstr:           "SUBSTR",
	kwSubstring:        "SUBSTRING",
	kwSymmetric:        "SYMMETRIC",
	kwSystem:           "SYSTEM",
	kwSystemTime:       "SYSTEM_TIME",
	kwT:                "T",
	kwTables:           "TABLES",
	kwTag:              "TAG",
	kwTags:             "TAGS",
	kwTarget:           "TARGET",
	kwTemp:             "TEMP",
	kwTemporary:        "TEMPORARY",
	kwText:             "TEXT",
	kwTies:             "TIES",
	kwTime:             "TIME",
	kwTimestamp:        "TIMESTAMP",
	kwTimestamptz:      "TIMESTAMPTZ",
	kwTimetz:           "TIMETZ",
	kwTo:               "TO",
	kwToken:            "TOKEN",
	kwTop:              "TOP",
	kwTrailing:         "TRAILING",
	kwTransaction:      "TRANSACTION",
	kwTransform:        "TRANSFORM",
	kwTrim:             "TRIM",
	kwTruncate:         "TRUNCATE",
	kwTryCast:          "TRY_CAST",
	kwTs:               "TS",
	kwType:             "TYPE",
	kwUnbounded:        "UNBOUNDED",
	kwUnknown:          "UNKNOWN",
	kwUnsigned:         "UNSIGNED",
	kwUpdate:           "UPDATE",
	kwUse:              "USE",
	kwUuid:             "UUID",
	kwValidate:         "VALIDATE",
	kwVarying:          "VARYING",
	kwVector:           "VECTOR",
	kwVerbose:          "VERBOSE",
	kwVersion:          "VERSION",
	kwView:             "VIEW",
	kwViews:            "VIEWS",
	kwWeek:             "WEEK",
	kwWithout:          "WITHOUT",
	kwWork:             "WORK",
	kwWrite:            "WRITE",
	kwYear:             "YEAR",
	kwZone:             "ZONE",
	kwAsof:             "ASOF",
	kwEscape:           "ESCAPE",
	kwFetch:            "FETCH",
	kwFilter:           "FILTER",
	kwIsnull:           "ISNULL",
	kwNotnull:          "NOTNULL",
	kwOffset:           "OFFSET",
	kwOver:             "OVER",
	kwSemi:             "SEMI",
	kwSet:              "SET",
	kwSimilar:          "SIMILAR",
	kwTablesample:      "TABLESAMPLE",
	kwWindow:           "WINDOW",
	kwWithin:           "WITHIN",
	kwAll:              "ALL",
	kwAnd:              "AND",
	kwArray:            "ARRAY",
	kwAs:               "AS",
	kwAsc:              "ASC",
	kwBetween:          "BETWEEN",
	kwCase:             "CASE",
	kwCheck:            "CHECK",
	kwCollate:          "COLLATE",
	kwConstraint:       "CONSTRAINT",
	kwCreate:           "CREATE",
	kwCross:            "CROSS",
	kwDefault:          "DEFAULT",
	kwDesc:             "DESC",
	kwDistinct:         "DISTINCT",
	kwElse:             "ELSE",
	kwEnd:              "END",
	kwExcept:           "EXCEPT",
	kwFalse:            "FALSE",
	kwFor:              "FOR",
	kwFrom:             "FROM",
	kwFull:             "FULL",
	kwGroup:            "GROUP",
	kwHaving:           "HAVING",
	kwIlike:            "ILIKE",
	kwIn:               "IN",
	kwInner:            "INNER",
	kwIntersect:        "INTERSECT",
	kwInto:             "INTO",
	kwIs:               "IS",
	kwJoin:             "JOIN",
	kwLateral:          "LATERAL",
	kwLeft:             "LEFT",
	kwLike:             "LIKE",
	kwLimit:            "LIMIT",
	kwNatural:          "NATURAL",
	kwNot:              "NOT",
	kwNull:             "NULL",
	kwOn:               "ON",
	kwOr:               "OR",
	kwOrder:            "ORDER",
	kwOuter:            "OUTER",
	kwPrimary:          "PRIMARY",
	kwQualify:          "QUALIFY",
	kwReturning:        "RETURNING",
	kwRight:            "RIGHT",
	kwSelect:           "SELECT",
	kwSome:             "SOME",
	kwTable:            "TABLE",
	kwThen:             "THEN",
	kwTrue:             "TRUE",
	kwUnion:            "UNION",
	kwUnique:           "UNIQUE",
	kwUsing:            "USING",
	kwValues:           "VALUES",
	kwWhen:             "WHEN",
	kwWhere:            "WHERE",
	kwWith:             "WITH",
}

const longestKeyword = 17

var keywordOf = func() map[string]keyword {
	m := make(map[string]keyword, numKeywords)
	for k, text := range keywordText {
		if text != "" {
			m[text] = keyword(k)
		}
	}
	return m
}()

// lookupKeyword finds the keyword of a word in any case, without allocating.
func lookupKeyword(word string) keyword {
	if len(word) > longestKeyword {
		return noKeyword
	}
	var upper [longestKeyword]byte
	for i := range len(word) {
		c := word[i]
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		upper[i] = c
	}
	return keywordOf[string(upper[:len(word)])]
}

// String is the upper-case text.
func (k keyword) String() string { return keywordText[k] }

// reserved reports whether the word needs quotes to be a name.
func (k keyword) reserved() bool { return k >= firstReserved }

// Reserved reports whether a word needs quotes to be a name.
func Reserved(word string) bool { return lookupKeyword(word).reserved() }

// bareAlias reports whether the word may be an alias without AS.
func (k keyword) bareAlias() bool { return k < firstNoAlias }
