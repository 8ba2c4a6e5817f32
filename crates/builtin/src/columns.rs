//! The columns of the built-in Tables.

use crate::resource::Column;

const NAME: Column = Column {
    name: "Name",
    kind: "string",
    format: "name",
    description: "The object's name",
    priority: 0,
};

pub(crate) const NAME_CREATED_AT: &[Column] = &[
    NAME,
    Column {
        name: "Created At",
        kind: "date",
        format: "",
        description: "When the object was created",
        priority: 0,
    },
];
