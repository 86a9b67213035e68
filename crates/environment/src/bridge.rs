//! A game in another process, by lines of JSON: both ends of the conversation.
//!
//! The policy's end is [`Bridge`], an [`Environment`]; a bridge to a real game is a program that
//! answers as [`serve`] does, over its standard streams, a pair of named pipes or a socket.

use std::io::{BufRead, Write};

use features::{Controller, View};

use crate::message::{Message, PROTOCOL};
use crate::{Environment, EnvironmentError, Step};

/// The policy's end.
#[derive(Debug)]
pub struct Bridge<R, W> {
    incoming: R,
    outgoing: W,
    view: View,
    frame: i32,
}

fn send(outgoing: &mut impl Write, message: &Message) -> Result<(), EnvironmentError> {
    let line = message.to_line() + "\n";
    let sent = outgoing.write_all(line.as_bytes()).and_then(|()| outgoing.flush());
    sent.map_err(|e| EnvironmentError::new(format!("the other side takes no message: {e}")))
}

/// The next message; nothing when the other side is gone.
fn receive(incoming: &mut impl BufRead) -> Result<Option<Message>, EnvironmentError> {
    let mut line = String::new();
    match incoming.read_line(&mut line) {
        Ok(0) => Ok(None),
        Ok(_) => Message::parse(line.trim_end()).map(Some),
        Err(e) => Err(EnvironmentError::new(format!("the other side sends no message: {e}"))),
    }
}

impl<R: BufRead, W: Write> Bridge<R, W> {
    /// Waits for the bridge's greeting.
    ///
    /// # Errors
    /// When the bridge is gone, says something else, or speaks another version of the protocol.
    pub fn open(mut incoming: R, outgoing: W) -> Result<Self, EnvironmentError> {
        match receive(&mut incoming)? {
            Some(Message::Hello { protocol: PROTOCOL, view }) => {
                Ok(Self { incoming, outgoing, view, frame: 0 })
            }
            Some(Message::Hello { protocol, .. }) => Err(EnvironmentError::new(format!(
                "the bridge speaks version {protocol} of the protocol, this program version {PROTOCOL}"
            ))),
            other => Err(unexpected("hello", other)),
        }
    }

    fn frame(&mut self, expected: Option<i32>) -> Result<Step, EnvironmentError> {
        match receive(&mut self.incoming)? {
            Some(Message::Frame(step)) => {
                // A frame that was lost or sent twice would shift every input after it.
                if expected.is_some_and(|frame| frame != step.state.frame) {
                    return Err(EnvironmentError::new(format!(
                        "the bridge sent frame {} after frame {}",
                        step.state.frame, self.frame
                    )));
                }
                self.frame = step.state.frame;
                Ok(*step)
            }
            other => Err(unexpected("frame", other)),
        }
    }

    /// Ends the conversation.
    ///
    /// # Errors
    /// When the bridge does not take the message.
    pub fn close(mut self) -> Result<(), EnvironmentError> {
        send(&mut self.outgoing, &Message::Close)
    }
}

fn unexpected(expected: &str, message: Option<Message>) -> EnvironmentError {
    EnvironmentError::new(match message {
        None => format!("the bridge is gone; expected its `{expected}` message"),
        Some(Message::Error { message }) => format!("the bridge reports: {message}"),
        Some(other) => {
            format!("expected a `{expected}` message, the bridge sent {}", other.to_line())
        }
    })
}

impl<R: BufRead, W: Write> Environment for Bridge<R, W> {
    fn view(&self) -> View {
        self.view
    }

    fn reset(&mut self, seed: u64) -> Result<Step, EnvironmentError> {
        send(&mut self.outgoing, &Message::Reset { seed })?;
        self.frame(None)
    }

    fn step(&mut self, controller: &Controller) -> Result<Step, EnvironmentError> {
        let message = Message::Input { frame: self.frame, controller: *controller };
        send(&mut self.outgoing, &message)?;
        self.frame(self.frame.checked_add(1))
    }
}

/// The bridge's end over any environment: answers until the policy closes or is gone.
///
/// # Errors
/// When a message cannot be read or sent, or comes at a wrong time; what the environment refuses is
/// sent as an `error` message and ends the conversation.
pub fn serve<E: Environment>(
    environment: &mut E,
    mut incoming: impl BufRead,
    mut outgoing: impl Write,
) -> Result<(), EnvironmentError> {
    let hello = Message::Hello { protocol: PROTOCOL, view: environment.view() };
    send(&mut outgoing, &hello)?;
    let mut frame = None;
    while let Some(message) = receive(&mut incoming)? {
        let step = match message {
            Message::Reset { seed } => environment.reset(seed),
            Message::Input { frame: answered, controller } if frame == Some(answered) => {
                environment.step(&controller)
            }
            Message::Input { frame: answered, .. } => Err(EnvironmentError::new(format!(
                "the input answers frame {answered}, the last one sent is {frame:?}"
            ))),
            Message::Close => return Ok(()),
            other => {
                Err(EnvironmentError::new(format!("a policy does not send {}", other.to_line())))
            }
        };
        match step {
            Ok(step) => {
                frame = Some(step.state.frame);
                send(&mut outgoing, &Message::Frame(Box::new(step)))?;
            }
            Err(error) => {
                send(&mut outgoing, &Message::Error { message: error.to_string() })?;
                return Err(error);
            }
        }
    }
    Ok(())
}
