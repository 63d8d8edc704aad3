/// Reads a wg-quick(8) file. The result is a policy, and a copy of the file; or the file itself, if it is in the folder already.
package func importWireGuard(_ bytes: [UInt8], file: String, options: ImportOptions) throws(ImportFailure) -> ImportResult {
  guard !bytes.contains(0) else { throw ImportFailure("this is no text") }
  var result = ImportResult(report: ImportReport(file: file))
  var tunnel = ImportedTunnel(name: options.name ?? tunnelName(from: baseName(of: file)) ?? "wireguard", avoiding: options.taken)
  let copy = copyWireGuardQuick(bytes, at: .root, &result.report)
  if let own = options.own, copy.problems.isEmpty, copy.isUnchanged(from: bytes) {
    tunnel.use(own, copy, &result.report)
  } else {
    tunnel.useWireGuard(copy)
  }
  tunnel.addMissingRules(options.rules, for: "a wg-quick file", &result.report)
  result.add(tunnel, source: file, apps: options.apps, beside: options.beside)
  return result
}
