internal import NetworkTypes
internal import SystemdIO

/// A unit of systemd: org.freedesktop.systemd1(5).
final class UnitRun: ServiceRun {
  private static let root = "/org/freedesktop/systemd1"

  private let name: String
  private let calls: ServiceCalls
  private var unit = ""
  /// The pending job, until systemd says that it is done.
  private var job: String?
  private var isStarted = false
  private var wasRunning = false
  private var news: (ServiceNews) -> Void = { _ in }
  private var stopped: ((String?) -> Void)?

  init(_ name: String, on loop: EventLoop, busAddress: String?) {
    self.name = name
    calls = ServiceCalls("org.freedesktop.systemd1", on: loop, busAddress: busAddress)
    calls.failed = { [weak self] in self?.failed($0) }
  }

  func start(_ news: @escaping (ServiceNews) -> Void) {
    self.news = news
    open()
  }

  func stop(_ done: @escaping (String?) -> Void) {
    news = { _ in }
    stopped = done
    open()
  }

  private func open() {
    calls.bus.closed = { [weak self] reason in self?.failed(reason) }
    calls.bus.opened = { [weak self] in self?.subscribe() }
    calls.bus.connect()
  }

  private func failed(_ reason: String) {
    if let stopped {
      self.stopped = nil
      return stopped(reason)
    }
    wasRunning = false
    news(.ended(reason: "\(name): \(reason)"))
  }

  private func subscribe() {
    calls.match(Self.root, "org.freedesktop.systemd1.Manager", "JobRemoved") { [weak self] values in
      guard values.count > 3, let self, values[1].text == job else { return }
      job = nil
      finished(values[3].text ?? "")
    }
    // Without a subscriber systemd sends no signals.
    calls.call(Self.root, ".Manager", "Subscribe", orElse: { [weak self] _ in self?.load() }, then: { [weak self] _ in self?.load() })
  }

  private func load() {
    calls.call(Self.root, ".Manager", "LoadUnit", [.string(name)]) { [weak self] values in
      guard let self, let path = values.first?.text else { return }
      unit = path
      calls.match(path, "org.freedesktop.DBus.Properties", "PropertiesChanged") { [weak self] _ in self?.look() }
      if stopped != nil { begin("StopUnit") } else if isStarted { look() } else { begin("StartUnit") }
    }
  }

  private func begin(_ method: String) {
    calls.call(Self.root, ".Manager", method, [.string(name), .string("replace")]) { [weak self] values in
      self?.isStarted = true
      self?.job = values.first?.text
    }
  }

  private func finished(_ result: String) {
    if let stopped {
      self.stopped = nil
      return stopped(result == "done" || result == "skipped" ? nil : "the job to stop it: \(result)")
    }
    if result == "done" || result == "skipped" { return look() }
    look(orElse: "its start: \(result)")
  }

  /// Its state, unless a job will tell it.
  private func look(orElse words: String? = nil) {
    calls.get(unit, ".Unit", "ActiveState") { [weak self] value in
      guard let self, job == nil, isStarted, stopped == nil else { return }
      switch value?.text {
      case "active", "reloading":
        if !wasRunning {
          wasRunning = true
          news(.running)
        }
      case "activating", "deactivating": break
      case "failed": tell(orElse: words ?? "it has failed")
      default: failed(words ?? "it has ended")
      }
    }
  }

  /// Why it has failed.
  private func tell(orElse words: String) {
    calls.get(unit, ".Service", "Result") { [weak self] value in
      guard let self else { return }
      let result = value?.text.map { " (\($0))" } ?? ""
      failed("\(words)\(result); `systemctl status \(name)` shows why")
    }
  }
}
