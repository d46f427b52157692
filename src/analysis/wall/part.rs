//! Divides the wall time into parts, based on the step in which the work was launched.

/// A part of the wall time: work launched in a compared step, in a step that is not compared, or before the
/// window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(hidden)]
pub enum Part {
    /// The work was launched in a compared step of the window. Times per step include only this part.
    Window,
    /// The work was launched in the window, but in a step without a counterpart. The causes of the time
    /// difference do not include this part.
    Alone,
    /// The work was launched before the window, or outside of the selected steps or phase, so it is reported
    /// separately.
    Before,
}

impl Part {
    /// All parts, in the order of declaration.
    pub const ALL: [Part; 3] = [Part::Window, Part::Alone, Part::Before];

    /// Whether this part is inside the window.
    pub(crate) fn is_of_window(self) -> bool {
        match self {
            Part::Window | Part::Alone => true,
            Part::Before => false,
        }
    }

    /// The name of the part in tables: `window`, `unpaired_step` or `before_window`.
    pub fn label(self) -> &'static str {
        match self {
            Part::Window => "window",
            Part::Alone => "unpaired_step",
            Part::Before => "before_window",
        }
    }
}
