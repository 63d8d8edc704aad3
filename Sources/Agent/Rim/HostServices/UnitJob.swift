internal import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// The pending job of this process's systemd unit: its type (`stop`, `restart` …) distinguishes a restart from a stop. Before a restart
/// also what the unit keeps over it.
///
/// The unit is identified by its invocation ID, which systemd sets in the environment of its processes (systemd.exec(5)).
package final class UnitJob {
  private static let manager = "org.freedesktop.systemd1"
  private let bus: SystemBus
  private let loop: EventLoop
  private var timer: EventSource?
  private var done: ((Answer) -> Void)?
  /// The answer at the time limit.
  private var answer = Answer.unanswered
  /// The number of further descriptors that systemd can keep over the restart; 0 unless the answer is a restart.
  package private(set) var descriptorRoom = 0

  /// The answer of systemd about the unit's job.
  package enum Answer: Hashable, Sendable {
    /// The type of the pending job.
    case job(String)
    /// The unit has no job, or the process is no unit's.
    case none
    /// systemd did not answer in time.
    case unanswered

    /// Whether a new agent certainly follows this one.
    package var isRestart: Bool { if case .job(let type) = self { type == "restart" || type == "try-restart" } else { false } }

    /// Whether what the kill switch blocks stays blocked: a new agent follows this one. A kill switch does not open in doubt.
    package var keepsBlock: Bool {
      switch self {
      case .job: isRestart
      case .none: false
      case .unanswered: true
      }
    }
  }

  package init(on loop: EventLoop, busAddress: String? = nil) {
    self.loop = loop
    bus = SystemBus(on: loop, address: busAddress)
  }

  /// Calls back once, within the limit.
  package func ask(invocation: String?, within limit: Duration, then done: @escaping (Answer) -> Void) {
    guard let identity = invocation.flatMap(Self.bytes), identity.count == 16 else { return done(.none) }
    self.done = done
    timer = try? loop.at(.now + limit) { [weak self] in self.map { $0.finish($0.answer) } }
    bus.closed = { [weak self] _ in self?.finish(.none) }
    bus.opened = { [weak self] in
      let root = "/org/freedesktop/systemd1"
      self?.call(root, "\(Self.manager).Manager", "GetUnitByInvocationID", [.bytes(identity)], limit) { [weak self] in
        guard let unit = $0.text else { return self?.finish(.none) ?? () }
        self?.get(unit, "Unit", "Job", limit) { [weak self] job in
          guard let path = job[1]?.text, path != "/" else { return self?.finish(.none) ?? () }
          self?.get(path, "Job", "JobType", limit) { [weak self] type in
            self?.take(type.text.map { .job($0) } ?? .none, of: unit, limit)
          }
        }
      }
    }
    bus.connect()
  }

  private func take(_ answer: Answer, of unit: String, _ limit: Duration) {
    self.answer = answer
    guard answer.isRestart else { return finish(answer) }
    // A systemd that does not say it keeps none.
    count(unit, "FileDescriptorStoreMax", limit) { [weak self] most in
      guard most > 0 else { return self?.finish(answer) ?? () }
      self?.count(unit, "NFileDescriptorStore", limit) { [weak self] kept in
        self?.descriptorRoom = max(0, most - kept)
        self?.finish(answer)
      }
    }
  }

  /// A property of the unit that is a number; 0 without one.
  private func count(_ unit: String, _ property: String, _ limit: Duration, then next: @escaping (Int) -> Void) {
    let arguments: [BusArgument] = [.string("\(Self.manager).Service"), .string(property)]
    bus.call(Self.manager, unit, "org.freedesktop.DBus.Properties", "Get", arguments, within: limit) { result in
      if case .success(let values) = result { next(Int(clamping: values.first?.unsigned ?? 0)) } else { next(0) }
    }
  }

  private func get(_ path: String, _ interface: String, _ property: String, _ limit: Duration, then next: @escaping (BusValue) -> Void) {
    let arguments: [BusArgument] = [.string("\(Self.manager).\(interface)"), .string(property)]
    call(path, "org.freedesktop.DBus.Properties", "Get", arguments, limit, then: next)
  }

  private func call(
    _ path: String, _ interface: String, _ method: String, _ arguments: [BusArgument], _ limit: Duration,
    then next: @escaping (BusValue) -> Void
  ) {
    bus.call(Self.manager, path, interface, method, arguments, within: limit) { [weak self] result in
      switch result {
      case .success(let values): if let value = values.first { next(value) } else { self?.finish(.none) }
      case .failure(let error): self?.finish(error.isTimeout ? .unanswered : .none)
      }
    }
  }

  private func finish(_ answer: Answer) {
    guard let done else { return }
    self.done = nil
    timer = nil
    done(answer)
  }

  private static func bytes(ofHexadecimal text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count % 2 == 0 else { return nil }
    var bytes: [UInt8] = []
    for i in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[i..<i + 2], as: UTF8.self), radix: 16) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}
