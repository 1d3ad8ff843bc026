//! Values on their way to PostgreSQL and back, in its binary form.

use history::Datum;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, private::BytesMut};

/// A value on its way to the server: integers as BIGINT, everything else as text.
#[derive(Debug)]
pub(super) struct Parameter<'d>(pub &'d Datum);

impl ToSql for Parameter<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self.0 {
            Datum::Nil => Ok(IsNull::Yes),
            Datum::Int(int) if *kind == Type::INT8 => int.to_sql(kind, out),
            Datum::Str(text) if *kind == Type::TEXT => (&**text).to_sql(kind, out),
            other => Err(format!("{other} is no {kind}").into()),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::TEXT)
    }

    tokio_postgres::types::to_sql_checked!();
}

/// A value that came back.
pub(super) struct ReturnedValue(pub Datum);

impl<'r> FromSql<'r> for ReturnedValue {
    fn from_sql(kind: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        match *kind {
            Type::INT8 => i64::from_sql(kind, raw).map(|int| Self(Datum::Int(int))),
            _ => <&str>::from_sql(kind, raw).map(|text| Self(Datum::str(text))),
        }
    }

    fn from_sql_null(_kind: &Type) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self(Datum::Nil))
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::TEXT)
    }
}
