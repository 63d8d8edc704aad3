/// Reads a wg-quick(8) file. The result is a policy without rules, and the file itself.
package func importWireGuard(_ bytes: [UInt8], file: String, options: ImportOptions) throws(ImportFailure) -> ImportResult {
  guard !bytes.contains(0) else { throw ImportFailure("this is no text") }
  var result = ImportResult(report: ImportReport(file: file))
  var tunnel = ImportedTunnel(name: options.name ?? tunnelName(from: baseName(of: file)) ?? "wireguard", avoiding: options.taken)
  tunnel.useWireGuard(copyWireGuardQuick(bytes, at: .root, &result.report))
  result.report.note("a wg-quick file has no on-demand rules: add some, or start the tunnel with `roamward up`")
  result.add(tunnel, source: file)
  return result
}
