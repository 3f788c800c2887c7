//! The codes of errors. A code is a rule of the language, so that many messages share one.

use std::fmt;

/// Declares the codes in the order of their numbers.
macro_rules! codes {
    ($($name:ident = $number:literal,)*) => {
        /// The rule of the language that an error is about. Each has a page in `explain`, and keeps its number: a code
        /// that is no longer reported leaves a gap.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Code {
            $($name = $number,)*
        }

        impl Code {
            /// Every code, in the order of the list.
            pub const ALL: &[Code] = &[$(Code::$name),*];
        }
    };
}

codes! {
    // Attributes, modules and libraries
    UnknownSetting = 101,
    GivenTwice = 102,
    NoGrid = 103,
    NoValues = 104,
    SettingValue = 105,
    ConstValue = 106,
    UnknownInAttribute = 107,
    KernelParameters = 108,
    TooManyInstances = 109,
    PdlReadOnly = 110,
    MapForm = 111,
    MacroPlace = 112,
    MacroArguments = 113,
    CfgInside = 114,
    LibraryItem = 115,

    // Syntax
    Syntax = 201,
    NotInLanguage = 202,
    PatternForm = 203,
    ItemInBody = 204,
    NamedArgument = 205,
    LiteralForm = 206,
    MatchArm = 207,
    Subscript = 208,
    Dereference = 209,
    PythonWord = 210,
    NoHeap = 211,

    // Names
    UnknownName = 301,
    UnknownOperation = 302,
    OperationPrefix = 303,
    UnknownField = 304,
    UnknownType = 305,
    UnknownConstant = 306,
    UnknownMacro = 307,
    UnknownOption = 308,
    NotMutable = 309,
    NotAssignable = 310,

    // Types
    TypeMismatch = 401,
    MixedTypes = 402,
    LiteralRange = 403,
    ElementType = 404,
    Float8Arithmetic = 405,
    Bitcast = 406,
    TypeArgument = 407,
    ConditionType = 408,
    NotConstant = 409,
    NoValue = 410,
    ConstantArithmetic = 411,
    StructFields = 412,
    OptionalValue = 413,
    VariantComparison = 414,
    VariableType = 415,
    StaticAssert = 416,

    // Shapes
    ShapeMismatch = 501,
    RankMismatch = 502,
    TileShape = 503,
    TileTooLarge = 504,
    Registers = 505,
    Axis = 506,
    Reshape = 507,
    NeedsTile = 508,
    PowerOfTwo = 509,
    PartOfTile = 510,
    TilesOfOneShape = 511,
    Arange = 512,
    ArrayIndex = 513,

    // Memory
    NotMemory = 601,
    AccessArguments = 602,
    NotWritable = 603,
    MaskType = 604,
    OptionTwice = 605,
    NeedsUnsafe = 606,
    SharedArray = 607,
    AddressType = 608,
    ViewOfPointer = 609,
    ViewTile = 610,
    IndexType = 611,

    // Control flow
    OutsideLoop = 701,
    BreakValue = 702,
    ReturnPlace = 703,
    ReturnValue = 704,
    Range = 705,
    Step = 706,
    TooManyOperations = 707,
    RangeOption = 708,
    MatchNotExhaustive = 709,
    MatchValue = 710,

    // Products
    DotShape = 801,
    DotTypes = 802,
    DotDepth = 803,
    DotExtents = 804,
    Accumulator = 805,
    Precision = 806,
    Scale = 807,
    NarrowFormat = 808,

    // Grid
    GridExpression = 901,
    GridExtents = 902,
    RequiresCondition = 903,
    NumSms = 904,
    Swizzle = 905,
    OrderOfPrograms = 906,
    NumberOfPrograms = 907,

    // Clusters
    ClusterArch = 1001,
    ClusterSharedArray = 1002,
    ClusterSharing = 1003,
    ClusterWhole = 1004,
    ClusterMemory = 1005,
    ClusterAtomic = 1006,
    ClusterProduct = 1007,

    // Functions
    ParameterType = 1101,
    Signature = 1102,
    TooManyWords = 1103,
    ArgumentCount = 1104,
    HelperReturn = 1105,
    Recursion = 1106,
    ConstParameter = 1107,
    ClosureArgument = 1108,
    ClosureResult = 1109,
    EnumForm = 1110,

    // Closures, options and arguments of operations
    OperationClosure = 1201,
    Exclusive = 1202,
    Asm = 1203,
    Print = 1204,
}

impl Code {
    pub fn number(self) -> u16 {
        self as u16
    }

    /// The code of a number.
    pub(crate) fn of_number(number: u16) -> Option<Code> {
        Code::ALL.iter().copied().find(|c| c.number() == number)
    }

    /// A message with its code behind it.
    pub(crate) fn mark(self, message: &str) -> String {
        format!("{message} [{self}]")
    }

    /// The parts of a message with a code behind it.
    pub fn split(marked: &str) -> Option<(&str, Code)> {
        let (message, code) = marked.strip_suffix(']')?.rsplit_once(" [T")?;
        Some((message, Code::of_number(code.parse().ok()?)?))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "T{:04}", self.number())
    }
}
