internal import CSystemd
internal import Glibc
internal import LinuxIO
package import SystemdIO

/// A polkit on a private bus.
package final class PolkitDouble {
  /// A question as it arrived: `unix-process 4711 override interactive`.
  package private(set) var questions: [String] = []
  package private(set) var cancelled = 0
  /// Called after each question and each cancellation.
  package var asked: () -> Void = {}
  private var double: BusDouble?

  package enum Behaviour {
    case allows, denies, hangs
    /// Allows after a prompt, and says before that one is needed.
    case prompts
    /// Waits at the prompt.
    case hangsAtPrompt
    case fails
    /// Leaves the bus with the question open.
    case dies
  }

  package init(on address: String, loop: EventLoop, _ behaviour: Behaviour) throws {
    double = try BusDouble("org.freedesktop.PolicyKit1", on: address, loop: loop) { [weak self] call in
      guard let self else { return .nothing }
      defer { asked() }
      guard call.member == "CheckAuthorization" else {
        cancelled += 1
        return .reply { _ in }
      }
      let (words, isInteractive) = Self.read(call.message)
      questions.append(words)
      switch behaviour {
      case .allows: return Self.result(true, false)
      case .denies: return Self.result(false, false)
      case .hangs: return .nothing
      case .prompts: return isInteractive ? Self.result(true, false) : Self.result(false, true)
      case .hangsAtPrompt: return isInteractive ? .nothing : Self.result(false, true)
      case .fails: return .error(name: "org.freedesktop.PolicyKit1.Error.Failed", text: "Action is not registered")
      case .dies:
        leaving = try? loop.at(.now) { [weak self] in self?.double = nil }
        return .nothing
      }
    }
  }

  private var leaving: EventSource?

  private static func result(_ isAllowed: Bool, _ isChallenge: Bool) -> BusDouble.Answer {
    .reply { reply in
      sd_bus_message_open_container(reply, code("r"), "bba{ss}")
      for flag in [isAllowed, isChallenge] {
        var number: Int32 = flag ? 1 : 0
        sd_bus_message_append_basic(reply, code("b"), &number)
      }
      sd_bus_message_open_container(reply, code("a"), "{ss}")
      sd_bus_message_close_container(reply)
      sd_bus_message_close_container(reply)
    }
  }

  /// `((sa{sv})sa{ss}us)`.
  private static func read(_ message: OpaquePointer) -> (words: String, isInteractive: Bool) {
    sd_bus_message_enter_container(message, code("r"), "sa{sv}")
    var words = text(message)
    var values: [String] = []
    sd_bus_message_enter_container(message, code("a"), "{sv}")
    while sd_bus_message_enter_container(message, code("e"), "sv") > 0 {
      let key = text(message)
      var contents: UnsafePointer<CChar>?
      sd_bus_message_peek_type(message, nil, &contents)
      let type = contents.map { String(cString: $0) } ?? ""
      sd_bus_message_enter_container(message, code("v"), type)
      if type == "s" {
        values.append("\(key) \(text(message))")
      } else {
        var number: UInt64 = 0
        sd_bus_message_read_basic(message, CChar(bitPattern: type.utf8.first ?? 0), &number)
        values.append("\(key) \(key == "uid" ? UInt64(UInt32(truncatingIfNeeded: number)) : number)")
      }
      sd_bus_message_exit_container(message)
      sd_bus_message_exit_container(message)
    }
    sd_bus_message_exit_container(message)
    sd_bus_message_exit_container(message)
    words += ", " + values.sorted().joined(separator: ", ") + ", " + text(message)
    sd_bus_message_skip(message, "a{ss}")
    var flags: UInt32 = 0
    sd_bus_message_read_basic(message, code("u"), &flags)
    return (words + (flags == 1 ? ", interactive" : ""), flags == 1)
  }

  private static func text(_ message: OpaquePointer) -> String {
    var pointer: UnsafePointer<CChar>?
    sd_bus_message_read_basic(message, code("s"), &pointer)
    return pointer.map { String(cString: $0) } ?? ""
  }

  private static func code(_ type: Unicode.Scalar) -> CChar { CChar(bitPattern: UInt8(ascii: type)) }
}
