//! The codes of errors. A code is a rule of the language, so that many messages share one.

use std::fmt;

/// Declares the codes in the order of their numbers.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// The rule of the language that an error is about. Each has a page in `explain`, and keeps its number: a code
        /// that is no longer reported leaves a gap.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u16)]
        pub enum Code {
            $($(#[$doc])* $name = $number,)*
        }

        impl Code {
            /// Every code, in the order of the list.
            pub const ALL: &[Code] = &[$(Code::$name),*];
        }
    };
}

codes! {
    // Attributes, modules and libraries
    /// An attribute has a setting that does not exist.
    UnknownSetting = 101,
    /// A setting, a constant, a name or a type of a list stands twice.
    GivenTwice = 102,
    /// A kernel has no `grid`.
    NoGrid = 103,
    /// A type parameter or a const parameter has no values.
    NoValues = 104,
    /// A setting has a value out of its range.
    SettingValue = 105,
    /// The value of a const parameter has another type.
    ConstValue = 106,
    /// An attribute names a parameter or a kernel that does not exist.
    UnknownInAttribute = 107,
    /// The `kernel(..)` of a function fix different parameters.
    KernelParameters = 108,
    /// A kernel has more configurations or instances than the limit.
    TooManyInstances = 109,
    /// `pdl` names an array that the kernel may write.
    PdlReadOnly = 110,
    /// `map` is on a function that is not of elements.
    MapForm = 111,
    /// An attribute is on an item that it does not take.
    MacroPlace = 112,
    /// `#[tile_module]` or `#[tile_library]` has other arguments than it takes.
    MacroArguments = 113,
    /// A `cfg` is inside of a kernel, a module or a library.
    CfgInside = 114,
    /// A library has an item of a kind that libraries do not have.
    LibraryItem = 115,
    /// `alias` does not name an array that is read and one with such elements that is written.
    AliasPair = 116,
    /// `backward` is on a kernel, or names an array, that has no gradients.
    BackwardKernel = 117,

    // Syntax
    /// An attribute or the arguments of a macro do not follow the grammar.
    Syntax = 201,
    /// A body has Rust syntax that the language does not have.
    NotInLanguage = 202,
    /// A pattern is not a name, `_`, or a tuple or a struct of these.
    PatternForm = 203,
    /// A body has an item other than a constant.
    ItemInBody = 204,
    /// An argument has a name, as in Python.
    NamedArgument = 205,
    /// A literal is neither a number nor a bool, or has a suffix that is no element type.
    LiteralForm = 206,
    /// An arm of a `match` has a pattern or a guard that it does not take.
    MatchArm = 207,
    /// Brackets follow a tile or memory.
    Subscript = 208,
    /// A `*` stands before an expression.
    Dereference = 209,
    /// A name of Triton is a keyword of Rust.
    PythonWord = 210,
    /// A type owns memory.
    NoHeap = 211,
    /// Two comparisons stand beside `&`, `|` or `^` without parentheses.
    ChainedComparison = 212,

    // Names
    /// A name is no parameter, local or constant in scope.
    UnknownName = 301,
    /// A function is neither an operation nor a helper.
    UnknownOperation = 302,
    /// An operation has a prefix, as in `tl.load`.
    OperationPrefix = 303,
    /// A value has no such field.
    UnknownField = 304,
    /// A type is no element type, type parameter, enum or struct in scope.
    UnknownType = 305,
    /// A type has no such constant or variant.
    UnknownConstant = 306,
    /// A macro is none of `static_assert!`, `device_assert!` and `device_print!`.
    UnknownMacro = 307,
    /// An operation has no such option.
    UnknownOption = 308,
    /// An assignment is to a variable without `mut`.
    NotMutable = 309,
    /// An assignment is to something that is not a variable.
    NotAssignable = 310,

    // Types
    /// A value has another type than its place takes.
    TypeMismatch = 401,
    /// Two operands have different element types.
    MixedTypes = 402,
    /// A literal does not fit in its type.
    LiteralRange = 403,
    /// An operation does not take this element type.
    ElementType = 404,
    /// An operation computes with floats of 8 bits.
    Float8Arithmetic = 405,
    /// A `bitcast` is between types of different sizes.
    Bitcast = 406,
    /// A type argument is missing, superfluous or no type.
    TypeArgument = 407,
    /// A condition of control flow is not a scalar bool.
    ConditionType = 408,
    /// A value has to be known at compile time.
    NotConstant = 409,
    /// An expression that is used has no value.
    NoValue = 410,
    /// Arithmetic on constants overflows or divides by 0.
    ConstantArithmetic = 411,
    /// An expression or a pattern of a struct lacks fields, or repeats them.
    StructFields = 412,
    /// An optional value is used without `if let`, or another value with it.
    OptionalValue = 413,
    /// A variant is compared by order, or with another type.
    VariantComparison = 414,
    /// An assignment changes the type or the shape of a variable.
    VariableType = 415,
    /// The condition of a `static_assert!` is false.
    StaticAssert = 416,

    // Shapes
    /// Two extents differ, and neither is 1.
    ShapeMismatch = 501,
    /// Two tiles have different ranks.
    RankMismatch = 502,
    /// A tile has too many dimensions, or an extent below 1.
    TileShape = 503,
    /// A tile has more elements than the limit.
    TileTooLarge = 504,
    /// A tile has more elements for each thread than the limit.
    Registers = 505,
    /// A tile has no such axis.
    Axis = 506,
    /// A `reshape` changes the number of elements, or moves padding.
    Reshape = 507,
    /// An operation on dimensions gets a scalar, or a tile of too low a rank.
    NeedsTile = 508,
    /// An extent has to be a power of two.
    PowerOfTwo = 509,
    /// A part of a tile is no power of two at a multiple of its extent.
    PartOfTile = 510,
    /// The tiles of one operation have different shapes.
    TilesOfOneShape = 511,
    /// A range of `arange` is empty, or begins below 0.
    Arange = 512,
    /// The index of an array of values is no constant below its length.
    ArrayIndex = 513,

    // Memory
    /// An access is to something that is not memory.
    NotMemory = 601,
    /// An access has other arguments than its memory takes.
    AccessArguments = 602,
    /// A store is to memory that may only be read.
    NotWritable = 603,
    /// A mask is not a bool.
    MaskType = 604,
    /// An operation has an option twice.
    OptionTwice = 605,
    /// An operation needs an `unsafe fn` kernel.
    NeedsUnsafe = 606,
    /// A shared array has no constant length, or takes more than the limit.
    SharedArray = 607,
    /// A cast to a pointer is of an integer that has not 64 bits.
    AddressType = 608,
    /// The arguments of `view` are no pointer, extents and strides.
    ViewOfPointer = 609,
    /// Offsets, extents or a tile do not have the rank of the view.
    ViewTile = 610,
    /// An index is not an integer.
    IndexType = 611,

    // Control flow
    /// A `break` or `continue` has no loop around it.
    OutsideLoop = 701,
    /// A `break` has a value.
    BreakValue = 702,
    /// A `return` of a helper or a closure stands in a loop or an operation.
    ReturnPlace = 703,
    /// A kernel returns a value.
    ReturnValue = 704,
    /// A loop runs over something that is no range of scalar integers.
    Range = 705,
    /// A step of a range is 0, or negative where it must not be.
    Step = 706,
    /// A kernel has more operations than the limit.
    TooManyOperations = 707,
    /// An option of a range has no constant, or no loop to apply to.
    RangeOption = 708,
    /// A `match` has no arm for some value.
    MatchNotExhaustive = 709,
    /// A `match` takes a value of another type than its arms.
    MatchValue = 710,

    // Products
    /// The operands of a product have other ranks or batches than it takes.
    DotShape = 801,
    /// The operands of a product have different or unsupported element types.
    DotTypes = 802,
    /// The columns of the left operand are not as many as the rows of the right one.
    DotDepth = 803,
    /// An extent of a product is not one that its instructions take.
    DotExtents = 804,
    /// An accumulator has another shape or type than the sums.
    Accumulator = 805,
    /// A product that is exact has an option of precision.
    Precision = 806,
    /// The scales of a product have another type or shape than its groups.
    Scale = 807,
    /// A conversion of a narrow format gets another type or extent.
    NarrowFormat = 808,

    // Grid
    /// A grid has an expression that the host cannot compute.
    GridExpression = 901,
    /// A grid has other than one to three extents.
    GridExtents = 902,
    /// A condition of the host is not a bool.
    RequiresCondition = 903,
    /// `num_sms()` stands in a kernel.
    NumSms = 904,
    /// The arguments of `swizzle2d` are no scalars and a constant.
    Swizzle = 905,
    /// The results of a `deterministic` kernel depend on the order of programs.
    OrderOfPrograms = 906,
    /// The results of a `deterministic` kernel depend on the number of programs.
    NumberOfPrograms = 907,

    // Clusters
    /// A configuration with `ctas` has no `arch = [90]`.
    ClusterArch = 1001,
    /// A kernel with a shared array is partitioned over a cluster.
    ClusterSharedArray = 1002,
    /// The tiles of a kernel have no dimension that a cluster can partition.
    ClusterSharing = 1003,
    /// An operation needs the partitioned dimension as a whole.
    ClusterWhole = 1004,
    /// Thread blocks of a cluster access the same memory without an order.
    ClusterMemory = 1005,
    /// A cluster cannot carry out an atomic.
    ClusterAtomic = 1006,
    /// A product cannot be partitioned over a cluster.
    ClusterProduct = 1007,

    // Functions
    /// A parameter has a type that kernels or helpers do not take.
    ParameterType = 1101,
    /// A kernel or a helper is no plain function.
    Signature = 1102,
    /// A kernel has more argument words or arrays than a launch takes.
    TooManyWords = 1103,
    /// A call has too few or too many arguments.
    ArgumentCount = 1104,
    /// A helper with a value has no return type.
    HelperReturn = 1105,
    /// Calls are nested deeper than the limit.
    Recursion = 1106,
    /// A const parameter has a type or a default that it does not take.
    ConstParameter = 1107,
    /// The argument for a closure of a helper is no such closure.
    ClosureArgument = 1108,
    /// A closure has a value where none is declared, or none where one is.
    ClosureResult = 1109,
    /// An enum has fields, numbers or generic parameters.
    EnumForm = 1110,

    // Closures, options and arguments of operations
    /// A closure of an operation does more than compute with its arguments.
    OperationClosure = 1201,
    /// The argument of `.exclusive` is no scalar for each tile.
    Exclusive = 1202,
    /// The text or the operands of `asm` do not have its form.
    Asm = 1203,
    /// The text of a print or an assertion is no string literal.
    Print = 1204,
    /// A kernel with `backward` has an operation or a statement without an adjoint.
    NoAdjoint = 1205,
}

impl Code {
    /// The digits of the code as messages have it: 501 of `T0501`.
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
