# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Nix's recipe. tests/packages/recipes parses it and compares it with DESTDIR; it has never been
# built with Nix.
{ lib, stdenv, cmake, ninja, pandoc, pkg-config, python3, libnl, systemd, isa-l
, src ? ../.., uroce ? false }:

stdenv.mkDerivation {
  pname = "rdma-core";
  version = "65.0";
  inherit src;
  nativeBuildInputs = [ cmake ninja pandoc pkg-config python3 ];
  buildInputs = [ libnl systemd isa-l ];
  # Settings are in the system's /etc, not in the store.
  cmakeFlags = [
    "-DCMAKE_BUILD_TYPE=Release"
    "-DCMAKE_INSTALL_SYSCONFDIR=/etc"
    "-DRDMA_TESTS=OFF"
  ];
  # The driver files go into the store, where the library looks, too. The system's /etc is filled from etc of the
  # store.
  installPhase = ''
    runHook preInstall
    DESTDIR=$PWD/all cmake --install .
    mkdir -p $out/lib/libibverbs.d
    cp -a all$out/. $out/
    mv all/etc/libibverbs.d/* $out/lib/libibverbs.d/
    rmdir all/etc/libibverbs.d
    cp -a all/etc $out/etc
  '' + lib.optionalString uroce ''
    DESTDIR=$PWD/on cmake --install . --component uroce-on
    cp -a on$out/. $out/
  '' + ''
    runHook postInstall
  '';
  meta = {
    description = "RDMA verbs, connections and tools";
    license = with lib.licenses; [ gpl2Only bsd2 ];
    platforms = lib.platforms.linux;
  };
}
