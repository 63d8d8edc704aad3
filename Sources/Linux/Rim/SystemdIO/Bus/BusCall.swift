internal import CSystemd
internal import Glibc

/// A method call of another program to an object of ours. It has one answer: `reply` or `fail`, now or later.
package final class BusCall {
  private let message: OpaquePointer
  private var isAnswered = false
  package let path: String
  package let interface: String
  package let member: String
  /// The unique name of the caller's connection.
  package let sender: String
  /// The types of the arguments.
  package let signature: String
  /// The arguments.
  package let values: [BusValue]
  /// Whether the caller accepts that a person is asked for a password meanwhile.
  package let mayInteract: Bool

  init(_ message: OpaquePointer) {
    func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
    self.message = sd_bus_message_ref(message)
    path = text(sd_bus_message_get_path(message))
    interface = text(sd_bus_message_get_interface(message))
    member = text(sd_bus_message_get_member(message))
    sender = text(sd_bus_message_get_sender(message))
    signature = text(sd_bus_message_get_signature(message, 1))
    mayInteract = sd_bus_message_get_allow_interactive_authorization(message) > 0
    values = BusMessageReader(message).values()
  }

  deinit {
    if !isAnswered { fail("org.freedesktop.DBus.Error.Failed", "the call was abandoned") }
    sd_bus_message_unref(message)
  }

  package func reply(_ arguments: BusArgument...) {
    guard !isAnswered else { return }
    isAnswered = true
    var reply: OpaquePointer?
    guard sd_bus_message_new_method_return(message, &reply) >= 0, let reply else { return }
    defer { sd_bus_message_unref(reply) }
    for argument in arguments { guard argument.append(to: reply) >= 0 else { return } }
    sd_bus_send(nil, reply, nil)
  }

  package func fail(_ name: String, _ text: String) {
    guard !isAnswered else { return }
    isAnswered = true
    var error = sd_bus_error()
    sd_bus_error_set(&error, name, text)
    sd_bus_reply_method_error(message, &error)
    sd_bus_error_free(&error)
  }
}

extension SystemBus {
  /// Answers the method calls to a path and everything below it, as long as the connection lasts.
  package func answer(below path: String, _ handler: @escaping (BusCall) -> Void) {
    guard let bus else { return }
    _ = register { slot, context in
      sd_bus_add_fallback(
        bus, slot, path,
        { message, context, _ in
          _ = BusRegistration.fire(context, message)
          return 1
        }, context)
    } then: { message in
      if let message { handler(BusCall(message)) }
    }
  }

  /// Asks for a name; waits in the bus's queue while another connection has it. Calls back with the error if it is refused.
  package func own(_ name: String, refused: @escaping (BusError) -> Void) {
    // DBUS_REQUEST_NAME_ALLOW_REPLACEMENT and the like are not wanted: 0.
    call(
      "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "RequestName", [.string(name), .uint32(0)],
      within: .seconds(25)
    ) { if case .failure(let error) = $0 { refused(error) } }
  }

  /// Sends a signal to everybody who listens, or to one connection.
  package func emit(_ path: String, _ interface: String, _ member: String, _ arguments: [BusArgument], to destination: String? = nil) {
    guard let bus else { return }
    var message: OpaquePointer?
    guard sd_bus_message_new_signal(bus, &message, path, interface, member) >= 0, let message else { return }
    defer { sd_bus_message_unref(message) }
    for argument in arguments { guard argument.append(to: message) >= 0 else { return } }
    if let destination, sd_bus_message_set_destination(message, destination) < 0 { return }
    sd_bus_send(bus, message, nil)
  }

  /// The user, process and groups behind a connection's unique name, as the bus recorded them when it connected.
  package func credentials(of sender: String, then: @escaping (BusCredentials?) -> Void) {
    call(
      "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetConnectionCredentials", [.string(sender)],
      within: .seconds(5)
    ) { result in
      guard case .success(let values) = result, let entries = values.first, let user = entries["UnixUserID"]?.unsigned else {
        return then(nil)
      }
      then(
        BusCredentials(
          user: UInt32(truncatingIfNeeded: user), process: Int32(truncatingIfNeeded: entries["ProcessID"]?.unsigned ?? 0),
          groups: Set((entries["UnixGroupIDs"]?.list ?? []).compactMap { $0.unsigned.map { UInt32(truncatingIfNeeded: $0) } })))
    }
  }
}

/// The credentials of a connection to the bus.
package struct BusCredentials: Equatable, Sendable {
  package let user: UInt32
  /// 0: not known.
  package let process: Int32
  /// Empty: the bus does not know them.
  package let groups: Set<UInt32>
}
