/** esbuild bundles the style sheets that are imported. */
declare module '*.css';
