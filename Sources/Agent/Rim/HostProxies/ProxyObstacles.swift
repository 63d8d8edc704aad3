internal import Glibc
internal import KernelModel
internal import LinuxIO

extension ProxyFiles {
  /// The reason why a sink cannot be given the address, with its cure. `text`: the content of the sink's file.
  func obstacle(of sink: ProxySink, _ text: String?) -> String? {
    switch sink {
    case .pac, .environment: nil
    case .dconf: obstacleOfDconf
    case .firefox: obstacleOfFirefox(text)
    case .chromium, .chrome: obstacleOfChromium(sink)
    }
  }

  private var obstacleOfDconf: String? {
    if !programs("dconf") { return "the program dconf is not installed; cure: install dconf-cli" }
    if let foreign = foreignProfile, !Self.readsLocal(foreign.text) {
      return foreign.path == profile
        ? "\(profile) does not read the database `local`; cure: add the line `system-db:local` to it"
        : "\(foreign.path) is another program's profile; cure: copy it to \(profile), with the line `system-db:local`"
    }
    // Compiled without a folder of its own, it would be written over.
    if access(database, F_OK) == 0, access("\(database).d", F_OK) != 0, !hasAddress {
      return "\(database) is another program's; cure: put its settings into \(database).d"
    }
    return nil
  }

  private func obstacleOfFirefox(_ text: String?) -> String? {
    guard let path = path(of: .firefox) else { return nil }
    let entry = "\"Proxy\": {\"Mode\": \"autoConfig\", \"AutoConfigURL\": \"\(ProxyPublication.url)\"}"
    if let text, text != Self.content(of: .firefox) { return "\(path) is another program's; cure: add \(entry) to its policies" }
    return installedPolicies.first { access($0, F_OK) == 0 }.map {
      "\($0) has policies that \(path) would switch off; cure: copy it to that place, and add \(entry) to its policies"
    }
  }

  private func obstacleOfChromium(_ sink: ProxySink) -> String? {
    guard let path = path(of: sink) else { return nil }
    let folder = Folder.parent(of: path)
    for name in Folder.names(in: folder) where ![path, path + TextFile.temporarySuffix].contains("\(folder)/\(name)") {
      let other = Self.text("\(folder)/\(name)") ?? ""
      if other.contains("\"ProxySettings\"") || other.contains("\"ProxyMode\"") {
        return "\(folder)/\(name) sets the browser's proxy already; cure: remove it there"
      }
    }
    return nil
  }
}
