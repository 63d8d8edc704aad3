internal import LinuxIO

/// The slices of systemd in which units run that are tunnels, one for each tunnel, at the root of the hierarchy:
///
///     /roamward_4026531840_work.slice/openvpn-client@work.service
///
/// systemd makes and removes them; the program that marks sockets is attached in between, before the unit starts. A dash in the name would
/// be a slice above it, so that of a tunnel's name is a colon.
extension ProviderGroups {
  private static let suffix = ".slice"
  private static var prefix: String { "roamward_\(namespace)_" }

  /// The name of a tunnel's slice, as systemd knows it.
  package static func slice(of tunnel: String) -> String {
    prefix + String(tunnel.map { $0 == "-" ? ":" : $0 }) + suffix
  }

  /// The tunnel that a slice of this name belongs to; `nil`: it is none of this network namespace.
  package static func tunnel(ofSlice name: String) -> String? {
    guard name.hasPrefix(prefix), name.hasSuffix(suffix), name.count > prefix.count + suffix.count else { return nil }
    return String(name.dropFirst(prefix.count).dropLast(suffix.count).map { $0 == ":" ? "-" : $0 })
  }

  /// Marks the sockets that are opened in a tunnel's slice from now on. systemd has made it.
  package func markSlice(of tunnel: String, _ mark: UInt32) throws(ProviderGroupError) {
    let group = try openSlice(of: tunnel)
    let marker = try Self.marker(mark)
    do throws(SystemError) { try marker.attach(to: group) } catch { throw ProviderGroupError(error) }
    slices[tunnel] = group
  }

  /// Whether the slice of a tunnel is the one that was marked: one that was made again under its name is not.
  package func isSliceMarked(of tunnel: String) -> Bool {
    guard let marked = slices[tunnel], let present = try? openSlice(of: tunnel) else { return false }
    return marked.number == present.number
  }

  /// The slice of a tunnel; `nil`: there is none.
  package func existingSlice(of tunnel: String) -> OpenControlGroup? { slices[tunnel] }

  package func forgetSlice(of tunnel: String) { slices[tunnel] = nil }

  /// The tunnels that have a slice.
  package var unitTunnels: [String] { slices.keys.sorted() }

  /// Opens the slices that an agent has left.
  func findSlices() {
    let names = (try? Self.root())?.children ?? []
    for tunnel in names.compactMap(Self.tunnel(ofSlice:)) where slices[tunnel] == nil { slices[tunnel] = try? openSlice(of: tunnel) }
  }

  private func openSlice(of tunnel: String) throws(ProviderGroupError) -> OpenControlGroup {
    let root = try Self.root()
    do throws(SystemError) { return try root.child(Self.slice(of: tunnel)) } catch { throw ProviderGroupError(error) }
  }
}
