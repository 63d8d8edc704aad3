internal import CSystemd
internal import Glibc
internal import LinuxIO
package import SystemdIO

/// A service on a private bus, for tests: it owns a name there and answers every method call by a function.
package final class BusDouble {
  /// A method call, while it is answered.
  package struct Call {
    /// For sd_bus_message_read_basic(3) and the like.
    package let message: OpaquePointer
    package let interface: String
    package let member: String
  }

  package enum Answer {
    /// None: the caller waits.
    case nothing
    case error(name: String, text: String)
    /// A return, with what the function appends to it.
    case reply((OpaquePointer) -> Void)
  }

  /// For messages besides the answers.
  package private(set) var bus: OpaquePointer?
  private var reading: EventSource?
  private let answer: (Call) -> Answer

  /// `address`: that of the bus. The function is called from the loop.
  package init(_ name: String, on address: String, loop: EventLoop, answer: @escaping (Call) -> Answer) throws {
    self.answer = answer
    guard sd_bus_new(&bus) >= 0, sd_bus_set_address(bus, address) >= 0, sd_bus_set_bus_client(bus, 1) >= 0, sd_bus_start(bus) >= 0,
      sd_bus_request_name(bus, name, 0) >= 0
    else { throw SystemError(code: EIO, operation: "own \(name) on the private bus") }
    sd_bus_add_filter(
      bus, nil,
      { message, context, _ in
        guard let message, let context else { return 0 }
        return Unmanaged<BusDouble>.fromOpaque(context).takeUnretainedValue().take(message)
      }, Unmanaged.passUnretained(self).toOpaque())
    reading = try loop.whenReadable(sd_bus_get_fd(bus)) { [weak self] in self?.process() }
    process()
  }

  deinit { sd_bus_flush_close_unref(bus) }

  private func process() { while sd_bus_process(bus, nil) > 0 {} }

  private func take(_ message: OpaquePointer) -> Int32 {
    guard sd_bus_message_is_method_call(message, nil, nil) > 0 else { return 0 }
    func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
    let call = Call(
      message: message, interface: text(sd_bus_message_get_interface(message)), member: text(sd_bus_message_get_member(message)))
    switch answer(call) {
    case .nothing: break
    case .error(let name, let words):
      var error = sd_bus_error()
      sd_bus_error_set(&error, name, words)
      sd_bus_reply_method_error(message, &error)
      sd_bus_error_free(&error)
    case .reply(let fill):
      var reply: OpaquePointer?
      sd_bus_message_new_method_return(message, &reply)
      if let reply { fill(reply) }
      sd_bus_send(bus, reply, nil)
      sd_bus_message_unref(reply)
    }
    sd_bus_flush(bus)
    return 1
  }
}
