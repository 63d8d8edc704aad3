internal import CSystemd
internal import Glibc
internal import LinuxIO
internal import NetworkTypes

/// A connection to the system's D-Bus, or to that of a user's session, through sd-bus(3) on the event loop. Nothing here blocks: replies
/// and signals arrive by call backs.
///
/// Without a bus there is no connection, and that is no error. A lost connection is retried, after a quarter of a second at first and a
/// minute at most. If the bus's socket itself is missing, its folder is watched instead, without a timer.
package final class SystemBus {

  private let loop: EventLoop
  private let address: String
  private let priority: EventSource.Priority
  private(set) var bus: OpaquePointer?
  private var registrations: [BusRegistration] = []
  private var calls: [Int: BusRegistration] = [:]
  private var lastCall = 0
  private var backoff = Backoff(first: .milliseconds(250), longest: .seconds(60))
  private var retry: EventSource?
  private var socketWatch: EventSource?
  /// The reason why there is no connection; `nil` while there is one.
  package private(set) var obstacle: String?
  /// Whether there is a connection; it may still be in the making.
  package var isConnected: Bool { bus != nil }
  /// Called for each new connection: subscriptions and queries begin here.
  package var opened: () -> Void = {}
  /// Called when the connection, or the attempt, has ended; state from it is no longer valid.
  package var closed: (_ reason: String) -> Void = { _ in }

  /// `address` as in the D-Bus specification; by default that of the environment, or the standard path.
  package init(on loop: EventLoop, address: String? = nil, priority: EventSource.Priority = .normal) {
    self.loop = loop
    self.priority = priority
    let named = getenv("DBUS_SYSTEM_BUS_ADDRESS").map { String(cString: $0) }
    self.address = address ?? named ?? "unix:path=/run/dbus/system_bus_socket"
  }

  deinit { disconnect() }

  /// Connects, now or when a bus appears.
  package func connect() {
    guard bus == nil else { return }
    retry = nil
    socketWatch = nil
    watchSocket()
    let failure = start()
    guard failure < 0 else {
      obstacle = nil
      return opened()
    }
    disconnect()
    let reason =
      failure == -ENOENT ? "there is no system bus" : SystemError(code: -failure, operation: "connect to the system bus").description
    obstacle = reason
    // A bus that does not answer is retried; a missing one is noticed when it appears.
    if failure != -ENOENT || socketWatch == nil { tryLater() }
    closed(reason)
  }

  /// Ends the connection, and every call with it, without call backs.
  package func disconnect() {
    registrations = []
    calls = [:]
    retry = nil
    if let bus {
      sd_bus_detach_event(bus)
      sd_bus_close(bus)
      sd_bus_unref(bus)
    }
    bus = nil
  }

  private func start() -> Int32 {
    var result = sd_bus_new(&bus)
    guard result >= 0, let bus else { return result }
    result = sd_bus_set_address(bus, address)
    if result >= 0 { result = sd_bus_set_bus_client(bus, 1) }
    if result >= 0 { result = sd_bus_start(bus) }
    // At the end of the loop, sd-bus would wait for a stalled bus for 90 s. Nothing is left to send then: changes are awaited.
    if result >= 0 { result = sd_bus_set_close_on_exit(bus, 0) }
    if result >= 0 { result = sd_bus_attach_event(bus, loop.event, Int32(priority.rawValue)) }
    guard result >= 0 else { return result }
    // The signal is sd-bus's own, so no bus is involved.
    return register { slot, context in
      sd_bus_match_signal(
        bus, slot, "org.freedesktop.DBus.Local", nil, "org.freedesktop.DBus.Local", "Disconnected",
        { _, context, _ in BusRegistration.fire(context, nil) }, context)
    } then: { [weak self] _ in
      // This must not happen during the bus's own callback.
      guard let self else { return }
      retry = try? loop.at(.now) { [weak self] in self?.broke() }
    }
  }

  private func broke() {
    disconnect()
    obstacle = "the system bus has ended the connection"
    tryLater()
    closed("the system bus has ended the connection")
  }

  private func tryLater() {
    retry = try? loop.at(.now + backoff.fail()) { [weak self] in self?.connect() }
  }

  /// A bus that starts (again) creates its socket again.
  private func watchSocket() {
    guard let path = address.split(separator: ",").first.flatMap({ $0.hasPrefix("unix:path=") ? String($0.dropFirst(10)) : nil }) else {
      return
    }
    let name = String(path.split(separator: "/").last ?? "")
    var folder = Folder.parent(of: path)
    while access(folder, F_OK) != 0, folder != "/" { folder = Folder.parent(of: folder) }
    let isItsFolder = folder == Folder.parent(of: path)
    socketWatch = try? loop.onChange(in: folder, mask: UInt32(IN_CREATE | IN_MOVED_TO)) { [weak self] made, _ in
      guard let self, bus == nil, !isItsFolder || made == name else { return }
      backoff.reset()
      // The socket exists before the bus listens on it.
      retry = try? loop.at(.now + .milliseconds(50)) { [weak self] in self?.connect() }
    }
  }

  // MARK: Questions

  /// Calls a method; the answer or error comes later, and not at all once the connection is gone. `startsService`: the bus starts the
  /// service if it does not run. `mayInteract`: a person may be asked for a password meanwhile.
  package func call(
    _ service: String, _ path: String, _ interface: String, _ method: String, _ arguments: [BusArgument] = [], within limit: Duration,
    startsService: Bool = false, mayInteract: Bool = false, then: @escaping (Result<[BusValue], BusError>) -> Void
  ) {
    guard let bus else { return then(.failure(BusError(name: "", message: obstacle ?? "there is no connection to the system bus"))) }
    var message: OpaquePointer?
    var result = sd_bus_message_new_method_call(bus, &message, service, path, interface, method)
    guard result >= 0, let message else { return then(.failure(BusError(code: -result))) }
    defer { sd_bus_message_unref(message) }
    sd_bus_message_set_auto_start(message, startsService ? 1 : 0)
    if mayInteract { sd_bus_message_set_allow_interactive_authorization(message, 1) }
    for argument in arguments { result = min(result, argument.append(to: message)) }
    guard result >= 0 else { return then(.failure(BusError(code: -result))) }
    lastCall += 1
    let number = lastCall
    let microseconds = UInt64(max(1, limit / .microseconds(1)))
    let call = BusRegistration { [weak self] message in
      self?.calls[number] = nil
      then(message.map(BusError.answer) ?? .failure(BusError(name: "", message: "no answer")))
    }
    result = call.attach { slot, context in
      sd_bus_call_async(
        bus, slot, message,
        { message, context, _ in
          _ = BusRegistration.fire(context, message)
          // Handled: with 0, sd-bus goes on with a connection that the handler may have closed, and aborts.
          return 1
        }, context, microseconds)
    }
    guard result >= 0 else { return then(.failure(BusError(code: -result))) }
    calls[number] = call
  }

  /// Calls back for each signal that a rule of the D-Bus specification matches, as long as the connection lasts.
  package func match(_ rule: String, _ handler: @escaping ([BusValue]) -> Void) {
    guard let bus else { return }
    _ = register { slot, context in
      sd_bus_add_match_async(bus, slot, rule, { message, context, _ in BusRegistration.fire(context, message) }, nil, context)
    } then: { message in
      handler(message.map { BusMessageReader($0).values() } ?? [])
    }
  }

  /// Records that the service answers: if this connection breaks, the pause starts at its shortest.
  package func isWell() { backoff.reset() }

  func register(
    _ add: (UnsafeMutablePointer<OpaquePointer?>, UnsafeMutableRawPointer) -> Int32, then handler: @escaping (OpaquePointer?) -> Void
  ) -> Int32 {
    let registration = BusRegistration(handler)
    let result = registration.attach(add)
    if result >= 0 { registrations.append(registration) }
    return result
  }
}

/// The reason why a call had no answer.
package struct BusError: Error, Equatable, Sendable, CustomStringConvertible {
  /// `org.freedesktop.DBus.Error.*`; empty for local failures.
  package let name: String
  package let message: String

  package init(name: String, message: String) {
    self.name = name
    self.message = message
  }

  init(code: Int32) { self.init(name: "", message: SystemError(code: code, operation: "call").description) }

  /// Whether the service did not answer in time.
  package var isTimeout: Bool { name == "org.freedesktop.DBus.Error.NoReply" || name == "org.freedesktop.DBus.Error.Timeout" }

  /// Whether the service does not run.
  package var isAbsence: Bool {
    ["NameHasNoOwner", "ServiceUnknown"].contains { name == "org.freedesktop.DBus.Error.\($0)" }
  }

  package var description: String {
    switch name {
    case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout": "it did not answer in time"
    case "": message
    default: message.isEmpty ? name : message
    }
  }

  fileprivate static func answer(_ message: OpaquePointer) -> Result<[BusValue], BusError> {
    guard let error = sd_bus_message_get_error(message) else { return .success(BusMessageReader(message).values()) }
    return .failure(
      BusError(
        name: error.pointee.name.map { String(cString: $0) } ?? "", message: error.pointee.message.map { String(cString: $0) } ?? ""))
  }
}

/// A slot of sd-bus: a match or an open call. It ends when the value is released.
final class BusRegistration {
  private var slot: OpaquePointer?
  private let handler: (OpaquePointer?) -> Void

  init(_ handler: @escaping (OpaquePointer?) -> Void) { self.handler = handler }

  deinit { sd_bus_slot_unref(slot) }

  func attach(_ add: (UnsafeMutablePointer<OpaquePointer?>, UnsafeMutableRawPointer) -> Int32) -> Int32 {
    add(&slot, Unmanaged.passUnretained(self).toOpaque())
  }

  static func fire(_ context: UnsafeMutableRawPointer?, _ message: OpaquePointer?) -> Int32 {
    guard let context else { return 0 }
    // Retains the registration during its own callback, which may release it.
    let registration = Unmanaged<BusRegistration>.fromOpaque(context).takeUnretainedValue()
    withExtendedLifetime(registration) { registration.handler(message) }
    return 0
  }
}
