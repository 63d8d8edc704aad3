internal import LinuxPlatform
internal import SystemdIO

/// The files whose changes the agent hears of: policies, those that facts come from, and resolv.conf.
final class WatchedFiles {
  private let policies: FileWatcher
  private let facts: FileWatcher
  private let resolver: FileWatcher

  init(
    on loop: EventLoop, policiesChanged: @escaping () -> Void, factsChanged: @escaping () -> Void, resolverChanged: @escaping () -> Void
  ) {
    policies = FileWatcher(loop: loop, changed: policiesChanged)
    facts = FileWatcher(loop: loop, changed: factsChanged)
    // Programs read another program's file until it is ours again.
    resolver = FileWatcher(loop: loop, settle: .zero, changed: resolverChanged)
  }

  func watchPolicies(folders: [String], files: [String]) { policies.watch(folders: folders, files: files) }

  func watchFacts(folders: [String], files: [String]) { facts.watch(folders: folders, files: files) }

  /// `places`: folders with the name of a file, or paths of anything.
  func watchResolver(_ places: [(path: String, name: String?)]) {
    let files = places.compactMap { place in place.name.map { "\(place.path)/\($0)" } }
    resolver.watch(folders: [], files: files, things: places.filter { $0.name == nil }.map(\.path))
  }

  /// The files whose changes are not detected, with the reason, for people; `nil`: all are.
  var limit: String? {
    let watchers = [("policies", policies), ("files about the network", facts), ("resolv.conf", resolver)]
    let limited = watchers.compactMap { what, watcher in watcher.obstacle.map { (what: what, reason: $0) } }
    guard let first = limited.first else { return nil }
    return "changes of \(limited.map(\.what).joined(separator: ", ")) are not detected: \(first.reason)"
  }
}
