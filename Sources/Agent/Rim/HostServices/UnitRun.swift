internal import NetworkTypes
internal import SystemdIO

/// A unit of systemd: org.freedesktop.systemd1(5). With a slice of ours it runs there: the slice is started and marked, a drop-in names it,
/// systemd reads that, and then the unit starts. At the end all of that is undone in the other order.
final class UnitRun: ServiceRun {
  private static let root = "/org/freedesktop/systemd1"
  /// systemd reads all its files again: seconds, on a busy machine.
  private static let reloadTime = Duration.seconds(60)

  private let name: String
  private let place: (slice: UnitSlice, dropIn: UnitDropIn)?
  private let calls: ServiceCalls
  private var unit = ""
  /// The pending job, until systemd says that it is done, and what follows then.
  private var job: (path: String?, done: (_ result: String) -> Void)?
  private var isStarted = false
  private var wasRunning = false
  /// Whether it was stopped, to start in its slice.
  private var isMoved = false
  private var news: (ServiceNews) -> Void = { _ in }
  private var stopped: ((String?) -> Void)?

  init(_ name: String, in place: (slice: UnitSlice, dropIn: UnitDropIn)?, on loop: EventLoop, busAddress: String?) {
    self.name = name
    self.place = place
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
    job = nil
    if let stopped {
      self.stopped = nil
      return stopped(reason)
    }
    wasRunning = false
    news(.ended(reason: "\(name): \(reason)"))
  }

  private func subscribe() {
    job = nil
    calls.match(Self.root, "org.freedesktop.systemd1.Manager", "JobRemoved") { [weak self] values in
      guard values.count > 3, let self, let job, values[1].text == job.path else { return }
      self.job = nil
      job.done(values[3].text ?? "")
    }
    // Without a subscriber systemd sends no signals.
    calls.call(Self.root, ".Manager", "Subscribe", orElse: { [weak self] _ in self?.begin() }, then: { [weak self] _ in self?.begin() })
  }

  private func begin() {
    guard let slice = place?.slice, stopped == nil, !isStarted else { return load() }
    run("StartUnit", slice.name) { [weak self] result in
      guard let self else { return }
      guard result == "done" || result == "skipped" else { return failed("its slice \(slice.name): \(result)") }
      enter(slice)
    }
  }

  /// Marks the slice, and has systemd know that the unit runs there.
  private func enter(_ slice: UnitSlice) {
    if let reason = slice.mark() { return failed("its sockets cannot be marked: \(reason)") }
    news(.marked)
    guard let dropIn = place?.dropIn, dropIn.slice != slice.name else { return load() }
    do { try dropIn.write(slice.name) } catch { return failed("\(error)") }
    calls.call(Self.root, ".Manager", "Reload", within: Self.reloadTime) { [weak self] _ in self?.load() }
  }

  private func load() {
    calls.call(Self.root, ".Manager", "LoadUnit", [.string(name)]) { [weak self] values in
      guard let self, let path = values.first?.text else { return }
      unit = path
      if stopped != nil { return stopUnit { [weak self] in self?.leave() } }
      calls.match(path, "org.freedesktop.DBus.Properties", "PropertiesChanged") { [weak self] _ in self?.look() }
      if isStarted { look() } else if let slice = place?.slice { examine(slice) } else { startUnit() }
    }
  }

  /// Starts it, unless its processes would run outside of its slice. One that runs already is stopped first, if no agent has left it so: it
  /// may have sockets without the mark.
  private func examine(_ slice: UnitSlice) {
    calls.get(unit, ".Service", "Slice") { [weak self] value in
      guard let self else { return }
      if let other = value?.text, !other.isEmpty, other != slice.name {
        return failed(
          "it would run in \(other) rather than in \(slice.name); remove `Slice=` from its last drop-in (`systemctl cat \(name)`)")
      }
      whereabouts { [weak self] isRunning, group in
        guard let self else { return }
        if isRunning, slice.isTakenOver, slice.contains(group) {
          isStarted = true
          return look()
        }
        if isRunning, !isMoved {
          isMoved = true
          return stopUnit { [weak self] in self?.examine(slice) }
        }
        guard !isRunning else { return failed("another program keeps starting it") }
        guard group.isEmpty || slice.contains(group) else {
          return failed("processes of it are left in \(group), where sockets are not marked; `systemctl kill \(name)` ends them")
        }
        startUnit()
      }
    }
  }

  /// Whether it runs, or is about to, and its control group.
  private func whereabouts(_ then: @escaping (_ isRunning: Bool, _ group: String) -> Void) {
    calls.get(unit, ".Unit", "ActiveState") { [weak self] state in
      guard let self else { return }
      calls.get(unit, ".Service", "ControlGroup") { then(!["inactive", "failed", nil].contains(state?.text), $0?.text ?? "") }
    }
  }

  private func startUnit() {
    run("StartUnit", name) { [weak self] result in
      let isDone = result == "done" || result == "skipped"
      self?.look(orElse: isDone ? nil : "its start: \(result)")
    }
    isStarted = true
  }

  /// Has systemd begin a job. `refused`: what to do if it does not.
  private func run(
    _ method: String, _ unit: String, orElse refused: ((BusError) -> Void)? = nil, then done: @escaping (_ result: String) -> Void
  ) {
    job = (nil, done)
    calls.call(
      Self.root, ".Manager", method, [.string(unit), .string("replace")],
      orElse: refused, then: { [weak self] values in self?.job?.path = values.first?.text })
  }

  // MARK: Its state

  /// Its state, unless a job will tell it.
  private func look(orElse words: String? = nil) {
    calls.get(unit, ".Unit", "ActiveState") { [weak self] value in
      guard let self, job == nil, isStarted, stopped == nil else { return }
      switch value?.text {
      case "active", "reloading": runs()
      case "activating", "deactivating": break
      case "failed": tell(orElse: words ?? "it has failed")
      default: failed(words ?? "it has ended")
      }
    }
  }

  /// It runs: where its sockets are marked, if they have to be. A unit that has no process now has no group.
  private func runs() {
    guard let slice = place?.slice, !wasRunning else { return tellRunning() }
    calls.get(unit, ".Service", "ControlGroup") { [weak self] value in
      guard let self, stopped == nil else { return }
      let group = value?.text ?? ""
      guard group.isEmpty || slice.contains(group) else { return failed("it runs in \(group), where its sockets are not marked") }
      guard slice.isMarked() else { return failed("another program has stopped its slice \(slice.name)") }
      tellRunning()
    }
  }

  private func tellRunning() {
    if wasRunning { return }
    wasRunning = true
    news(.running)
  }

  /// Reports the failure, with the unit's result as the reason.
  private func tell(orElse words: String) {
    calls.get(unit, ".Service", "Result") { [weak self] value in
      guard let self else { return }
      let result = value?.text.map { " (\($0))" } ?? ""
      failed("\(words)\(result); `systemctl status \(name)` shows why")
    }
  }

  // MARK: Its end

  private func stopUnit(then: @escaping () -> Void) {
    let refused: (BusError) -> Void = { [weak self] in
      // A unit without a file does not run.
      if $0.name == "org.freedesktop.systemd1.NoSuchUnit" { then() } else { self?.failed("\($0)") }
    }
    run("StopUnit", name, orElse: refused) { [weak self] result in
      if result == "done" || result == "skipped" { then() } else { self?.failed("the job to stop it: \(result)") }
    }
  }

  /// Removes the drop-in and the slice.
  private func leave() {
    guard let (slice, dropIn) = place else { return ended() }
    let stopSlice: () -> Void = { [weak self] in
      self?.run("StopUnit", slice.name, orElse: { [weak self] _ in self?.ended() }) { [weak self] _ in self?.ended() }
    }
    guard dropIn.remove(slice.name) else { return stopSlice() }
    calls.call(Self.root, ".Manager", "Reload", within: Self.reloadTime, orElse: { _ in stopSlice() }) { _ in stopSlice() }
  }

  private func ended() {
    place?.slice.forget()
    stopped?(nil)
    stopped = nil
  }
}
