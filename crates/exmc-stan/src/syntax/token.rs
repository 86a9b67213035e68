//! Tokens: kinds of words and marks, and how messages name them.

use super::tree::Base;
use crate::source::Span;

/// A word, number or mark with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    /// What.
    pub(crate) kind: Kind,
    /// Where.
    pub(crate) span: Span,
}

/// The seven blocks, in the order of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum BlockName {
    Functions,
    Data,
    TransformedData,
    Parameters,
    TransformedParameters,
    Model,
    GeneratedQuantities,
}

impl BlockName {
    /// As programs spell it.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::Data => "data",
            Self::TransformedData => "transformed data",
            Self::Parameters => "parameters",
            Self::TransformedParameters => "transformed parameters",
            Self::Model => "model",
            Self::GeneratedQuantities => "generated quantities",
        }
    }
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    // With their own text.
    Identifier,
    Integer,
    Real,
    /// `.12`: a real number, or a tuple's slot.
    DotNumber,
    Imaginary,
    Text,
    // Words.
    Block(BlockName),
    Base(Base),
    Void,
    Array,
    TupleType,
    Return,
    If,
    Else,
    While,
    For,
    In,
    Break,
    Continue,
    Profile,
    Print,
    Reject,
    FatalError,
    Lower,
    Upper,
    Offset,
    Multiplier,
    Target,
    Jacobian,
    /// `T`: a truncation, or a name like any other.
    Truncate,
    // Marks.
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    LeftBracket,
    RightBracket,
    Less,
    Greater,
    Comma,
    Semicolon,
    Bar,
    Question,
    Colon,
    Bang,
    Minus,
    Plus,
    Power,
    Transpose,
    Times,
    Divide,
    Modulo,
    IntDivide,
    LeftDivide,
    ElementTimes,
    ElementDivide,
    ElementPower,
    Or,
    And,
    Equal,
    NotEqual,
    LessEqual,
    GreaterEqual,
    Tilde,
    Assign,
    PlusAssign,
    MinusAssign,
    TimesAssign,
    DivideAssign,
    ElementTimesAssign,
    ElementDivideAssign,
    /// The end of the program.
    End,
}

/// What a word is: a keyword, or a name.
pub(crate) fn word(text: &str) -> Kind {
    if let Some(base) = Base::from_keyword(text) {
        return Kind::Base(base);
    }
    match text {
        "functions" => Kind::Block(BlockName::Functions),
        "data" => Kind::Block(BlockName::Data),
        "parameters" => Kind::Block(BlockName::Parameters),
        "model" => Kind::Block(BlockName::Model),
        "void" => Kind::Void,
        "array" => Kind::Array,
        "tuple" => Kind::TupleType,
        "return" => Kind::Return,
        "if" => Kind::If,
        "else" => Kind::Else,
        "while" => Kind::While,
        "for" => Kind::For,
        "in" => Kind::In,
        "break" => Kind::Break,
        "continue" => Kind::Continue,
        "profile" => Kind::Profile,
        "print" => Kind::Print,
        "reject" => Kind::Reject,
        "fatal_error" => Kind::FatalError,
        "lower" => Kind::Lower,
        "upper" => Kind::Upper,
        "offset" => Kind::Offset,
        "multiplier" => Kind::Multiplier,
        "target" => Kind::Target,
        "jacobian" => Kind::Jacobian,
        "T" => Kind::Truncate,
        _ => Kind::Identifier,
    }
}

/// Marks of several characters, longest first, then those of one.
pub(crate) const MARKS: [(&str, Kind); 40] = [
    ("%/%", Kind::IntDivide),
    (".*=", Kind::ElementTimesAssign),
    ("./=", Kind::ElementDivideAssign),
    (".*", Kind::ElementTimes),
    ("./", Kind::ElementDivide),
    (".^", Kind::ElementPower),
    ("||", Kind::Or),
    ("&&", Kind::And),
    ("==", Kind::Equal),
    ("!=", Kind::NotEqual),
    ("<=", Kind::LessEqual),
    (">=", Kind::GreaterEqual),
    ("+=", Kind::PlusAssign),
    ("-=", Kind::MinusAssign),
    ("*=", Kind::TimesAssign),
    ("/=", Kind::DivideAssign),
    ("{", Kind::LeftBrace),
    ("}", Kind::RightBrace),
    ("(", Kind::LeftParen),
    (")", Kind::RightParen),
    ("[", Kind::LeftBracket),
    ("]", Kind::RightBracket),
    ("<", Kind::Less),
    (">", Kind::Greater),
    (",", Kind::Comma),
    (";", Kind::Semicolon),
    ("|", Kind::Bar),
    ("?", Kind::Question),
    (":", Kind::Colon),
    ("!", Kind::Bang),
    ("-", Kind::Minus),
    ("+", Kind::Plus),
    ("^", Kind::Power),
    ("'", Kind::Transpose),
    ("*", Kind::Times),
    ("/", Kind::Divide),
    ("%", Kind::Modulo),
    ("\\", Kind::LeftDivide),
    ("~", Kind::Tilde),
    ("=", Kind::Assign),
];

impl Kind {
    /// Whether it is a keyword that cannot name anything.
    pub(crate) fn is_reserved(self) -> bool {
        matches!(
            self,
            Self::Block(
                BlockName::Functions | BlockName::Data | BlockName::Parameters | BlockName::Model
            ) | Self::Base(_)
                | Self::Void
                | Self::Array
                | Self::TupleType
                | Self::Return
                | Self::If
                | Self::Else
                | Self::While
                | Self::For
                | Self::In
                | Self::Break
                | Self::Continue
                | Self::Profile
                | Self::Print
                | Self::Reject
                | Self::FatalError
                | Self::Lower
                | Self::Upper
                | Self::Offset
                | Self::Multiplier
                | Self::Target
                | Self::Jacobian
        )
    }

    /// Whether it can name something.
    pub(crate) fn is_name(self) -> bool {
        matches!(self, Self::Identifier | Self::Truncate)
    }

    /// Whether a declaration starts with it.
    pub(crate) fn starts_type(self) -> bool {
        matches!(self, Self::Base(_) | Self::Array | Self::TupleType)
    }

    /// Its characters, where they are always the same.
    pub(crate) fn spelling(self) -> Option<&'static str> {
        MARKS.iter().find(|(_, kind)| *kind == self).map(|(mark, _)| *mark)
    }
}
