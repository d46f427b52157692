//! Defines the columns for the arguments of an op, which several tables share.

use super::table::{Cell, ColumnType, Columns};
use crate::side::Side;
use crate::trace::Argument;

/// One column for each argument and side; `cell` returns the cell for an argument, a row and a
/// side.
pub(super) fn columns<C: 'static, R: 'static>(
    cell: impl for<'c> Fn(&'c C, &'c R, Argument, Side) -> Cell<'c> + Send + Sync + Copy + 'static,
) -> Columns<C, R> {
    Argument::ALL.into_iter().fold(Columns::default(), |columns, argument| {
        let (name, meaning) = match argument {
            Argument::Shape => ("input_shape_*", "`Input Dims` of the op"),
            Argument::Concrete => {
                ("concrete_inputs_*", "`Concrete Inputs`: values that are not tensors")
            }
            Argument::Strides => ("input_strides_*", "`Input Strides`"),
            Argument::Type => ("input_type_*", "`Input type`"),
        };
        columns.sides(name, (ColumnType::Text, ""), meaning, move |about, row, side| {
            cell(about, row, argument, side)
        })
    })
}
