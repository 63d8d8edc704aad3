import NetworkTypes

/// Settings of a service for logins, as the gateway has read them last. A fault is told once, and the service is not used with it.
struct LoginSettings<Value: Equatable> {
  private(set) var value: Value?
  private var trouble: String?

  init() {}

  /// Reads them; returns whether they are others. `check` throws the fault of settings that have not passed it since they changed.
  mutating func follow(_ read: () throws -> Value?, check: (Value) throws -> Void = { _ in }, log: (String) -> Void) -> Bool {
    var (found, trouble): (Value?, String?)
    do {
      found = try read()
      if let found, found != value || self.trouble != nil { try check(found) }
    } catch {
      trouble = "\(error)"
      found = nil
    }
    if let trouble, trouble != self.trouble { log("logins: \(trouble)") }
    self.trouble = trouble
    guard found != value else { return false }
    value = found
    return true
  }
}

/// The failure of a service that was logged last, with its minute: strangers would fill the journal while a provider is away.
struct LoggedFailure {
  private var last: (text: String, minute: Int64) = ("", 0)

  init() {}

  /// Whether a failure is to be logged, at a time.
  mutating func isNew(_ text: String, at now: Timestamp) -> Bool {
    let failure = (text: text, minute: now.seconds / 60)
    defer { last = failure }
    return failure != last
  }
}
