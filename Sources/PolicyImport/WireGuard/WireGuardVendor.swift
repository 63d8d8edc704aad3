/// Reads the WireGuard app's payload: `VendorConfig.WgQuickConfig` contains wg-quick text, including the key.
func readWireGuardVendor(_ vendor: Item?, _ inner: inout Fields?, _ tunnel: inout ImportedTunnel, _ report: inout ImportReport) {
  if var fields = inner {
    fields.drop(["RemoteAddress"], reason: "for display only; the endpoint is in the WireGuard text", &report)
    fields.drop(["AuthenticationMethod"], reason: "WireGuard authenticates by its keys alone", &report)
    inner = fields
  }
  guard let vendor, var fields = Fields(vendor, &report) else {
    tunnel.obstacles.append("the profile holds no WireGuard text (VendorConfig.WgQuickConfig)")
    return
  }
  if let text = fields.text("WgQuickConfig", &report) {
    report.changed(text.place, "written to \(tunnel.name).conf, for root alone")
    tunnel.useWireGuard(copyWireGuardQuick(Array(text.value.utf8), at: text.place, &report))
  } else {
    tunnel.obstacles.append("the profile holds no WireGuard text (VendorConfig.WgQuickConfig)")
  }
  fields.drop(["UID"], reason: "an account of Apple's systems", &report)
  fields.finish(&report)
}
